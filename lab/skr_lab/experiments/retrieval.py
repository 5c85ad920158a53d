"""What retrieval is worth: other corpora (SKR Figure 6), and worse rankings (Tables 6 and 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from skr_core.budget import Budget
from skr_core.errors import InputError
from skr_core.flow import arun
from skr_core.ports import Retriever
from skr_core.prompts.templates import PROMPT_VERSION
from skr_core.questions import corpus_of
from skr_core.settings import Settings
from skr_core.types import Reference
from skr_graphs import GraphAnswerer
from skr_lab.baselines import BASELINES_VERSION, BaselineInputs, make_baseline
from skr_lab.experiment import Bench, Claiming, Demonstrated, Found, Paths, digest
from skr_lab.experiments.self_knowledge import DIRECT, RETRIEVED, with_passages
from skr_lab.opening import (
    Result,
    add_all,
    collect_references,
    compare,
    digest_of,
    named_embedder,
    open_embedder,
    open_router,
    open_searched,
    progress,
    router_stamp,
    row_of,
)
from skr_learn.evaluate import System
from skr_store import Store

NONE = "none"
"""The row without a corpus."""
MEASURES = (
    *("answer_accuracy", "exact_match", "token_f1", "title_recall"),
    *("calls", "prompt_tokens", "completion_tokens", "usd"),
)
SEARCHES: tuple[Literal["dense", "bm25", "hybrid"], ...] = ("dense", "bm25", "hybrid")
RANKS = {"rank 1-3": (1, 3), "rank 8-10": (8, 10)}
"""The rows of Table 7 over the whole corpus."""
BEST = "hybrid, rank 1-3"
"""The row that the others are compared with."""


class Corpora(Demonstrated):
    """Which corpus helps? One round over each, and none at all."""

    name: ClassVar[str] = "corpora"
    reproduces: ClassVar[str] = "SKR Figure 6"

    corpora: Paths = Field(min_length=1)
    """The corpora, JSON Lines with id, title and text, with commas between."""
    embedder: str = "hashing"
    """The embedder: hashing, pooled:NAME (SimCSE, DPR), or a sentence-transformers model."""
    search: Literal["hybrid", "dense", "bm25"] = "dense"
    """How the corpora are searched."""

    async def run(self, bench: Bench) -> Found:
        """Ask without a corpus, and over each."""
        names = [each.name.partition(".")[0] or each.name for each in self.corpora]
        if len(set(names)) < len(names) or NONE in names:
            raise InputError(f"the corpora need different names in the table: {', '.join(names)}")
        asked, model, shown = self.read_answered(), self.language_model, self.shown
        closed = BaselineInputs(model, demonstrations=shown)
        # Without examples Manual-CoT is zero-shot.
        systems = [System.of(NONE, make_baseline(DIRECT if shown else "zero_shot", closed))]
        settings = {"model": model.name, "embedder": self.embedder, "search": self.search}
        for name, path in zip(names, self.corpora, strict=True):
            opened, settings[name] = open_searched(
                bench.stack,
                store=None,
                corpus=path,
                questions=asked,
                embedder=named_embedder(self.embedder),
                search=self.search,
                skip_bad=self.skip_bad,
            )
            examples = await arun(with_passages(opened, shown))
            inputs = BaselineInputs(model, opened, demonstrations=examples)
            systems.append(System.of(name, make_baseline(RETRIEVED, inputs)))
        bench.open_folder(
            command=self.name,
            **settings,
            demonstrations=digest(shown),
            prompts=BASELINES_VERSION,
        )
        _, judged = await self.ask(bench, systems, asked)
        first, *others = names
        pairs = [*((each, NONE) for each in names), *((each, first) for each in others)]
        result = Result(
            self.name,
            "which corpus helps? (SKR Figure 6)",
            {"questions": f"{self.questions.name} ({len(asked)})", **settings},
            rows=tuple(row_of(name, each, MEASURES) for name, each in judged.items()),
            comparisons=tuple(
                compare(one, judged[one], other, judged[other], MEASURES) for one, other in pairs
            ),
            plotted=("answer_accuracy", "exact_match"),
            notes=(
                "Each row but the first answers every question after one round of retrieval; the "
                "paper does not say whether its figure shows that, or what its routers make of it.",
            ),
        )
        return Found(result, judged, {"n": len(asked)})


class RetrievalQuality(Claiming):
    """What does a worse retriever cost? Ranks 1-3, ranks 8-10, half the corpus."""

    name: ClassVar[str] = "retrieval-quality"
    reproduces: ClassVar[str] = "SKR Tables 6 and 7"

    corpus: Path | None = None
    """JSON Lines with id, title and text; else the questions' contexts."""
    embedder: str = "hashing"
    """The embedder: hashing, pooled:NAME (SimCSE, DPR), or a sentence-transformers model."""
    router: Path | None = None
    """The folder of a saved router: each row also adaptive."""

    async def run(self, bench: Bench) -> Found:
        """Ask over every search, every slice of ranks and half of the corpus."""
        asked, model, embedder = self.read(), self.language_model, open_embedder(self.embedder)
        references = (
            corpus_of(asked)
            if self.corpus is None
            else collect_references(self.corpus, skip_bad=self.skip_bad)
        )
        if not references:
            raise InputError("the questions hold no contexts to search: give corpus")
        systems: list[System] = []
        for search in SEARCHES:
            for part, some in (("", references), ("half corpus, ", half_of(references))):
                store = Store.ephemeral(embedder=embedder, search=search)
                bench.stack.enter_context(store)
                with progress(f"Ingesting ({search}{', half' if part else ''})") as advance:
                    add_all(store, some, advance)
                for ranks, (first, last) in RANKS.items():
                    if not part or first == 1:
                        sliced = RankSlice(store, first, last)
                        systems += self._systems(f"{search}, {part}{ranks}", sliced)
        corpus = "contexts" if self.corpus is None else self.corpus.name
        settings = {
            "model": model.name,
            "embedder": embedder.name,
            "corpus": f"{corpus} ({len(references):,} passages, {digest_of(references)})",
        }
        bench.open_folder(
            command=self.name, **settings, prompts=PROMPT_VERSION, **router_stamp(self.router)
        )
        _, judged = await self.ask(bench, systems, asked)
        result = Result(
            self.name,
            "what does a worse retriever cost? (SKR Tables 6 and 7)",
            {"questions": self.questions.name, **settings},
            rows=tuple(row_of(name, each) for name, each in judged.items()),
            comparisons=tuple(
                compare(name, each, BEST, judged[BEST])
                for name, each in judged.items()
                if name != BEST
            ),
            plotted=("answer_accuracy", "title_recall"),
        )
        return Found(result, judged, {"n": len(asked)})

    def _systems(self, name: str, retriever: Retriever) -> list[System]:
        """One that always retrieves, and one that a router guides where there is one."""
        model = self.language_model
        router = None if self.router is None else open_router(self.router, model)
        budget = Budget(max_rounds=1)
        answerer = GraphAnswerer(Settings.of(model, retriever, router=router, budget=budget))
        always = System.of(name, answerer, action="single")
        return [always] if router is None else [always, System.of(f"{name}, adaptive", answerer)]


class RankSlice:
    """Hands on only some ranks of what another retriever finds.

    Args:
        retriever: The retriever that is asked; it has to return `last` references.
        first: The best rank handed on, from 1.
        last: The worst.

    Example:
        >>> from skr_core.testing import MappingRetriever
        >>> found = RankSlice(MappingRetriever({"q": ["a", "b", "c"]}), 2, 3).retrieve("q")
        >>> [reference.text for reference in found]
        ['b', 'c']
    """

    def __init__(self, retriever: Retriever, first: int, last: int) -> None:
        self._retriever = retriever
        self._first, self._last = first, last

    @property
    def name(self) -> str:
        """The retriever's, with the ranks."""
        return f"{self._retriever.name}[{self._first}-{self._last}]"

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Some ranks of what is found."""
        return list(self._retriever.retrieve(query))[self._first - 1 : self._last]

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Some ranks of what is found."""
        return list(await self._retriever.aretrieve(query))[self._first - 1 : self._last]


def half_of(references: Sequence[Reference]) -> list[Reference]:
    """Half of a corpus, drawn by content, so that every run draws the same half.

    Example:
        >>> len(half_of([Reference.of(str(number)) for number in range(10)]))
        5
    """
    drawn = sorted(references, key=lambda each: hashlib.blake2b(each.id.encode()).digest())
    return drawn[: len(references) // 2]
