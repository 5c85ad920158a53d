"""Options that several commands share, each written once.

Options that belong together are the fields of a dataclass, which a command takes as one parameter
(`skr_app.spreading`). A default that a setting or a budget has is read from there. The groups of
the help are `skr_app.helping.PANELS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from platformdirs import user_data_path

from skr_app.completing import models, routers, stores
from skr_core.budget import Budget
from skr_core.settings import Settings, WhenInsufficient
from skr_learn.scoring import Metric

DEFAULT_STORE = str(user_data_path("skr-rag", appauthor=False) / "store")
LIMITS = Budget()
"""The limits of a question where no option says otherwise."""


Question = Annotated[str, typer.Argument(help="Your question.", show_default=False)]
Questions = Annotated[
    Path,
    typer.Argument(
        help="File of questions with their right answers: JSON Lines, JSON, CSV, TSV or Parquet. "
        "Field names of ragas, LangSmith, LlamaIndex and Hugging Face are understood.",
        show_default=False,
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        help="Write what was found to this file: a page (.html) or a notebook (.ipynb) with "
        "the verdict, two pictures, and what was judged on what.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
SkipBad = Annotated[
    bool,
    typer.Option("--skip-bad", help="Leave out lines that cannot be read, and say how many."),
]
Store = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="SKR_STORE",
        help="The store of your documents: a folder, or the address of `skr store serve`.",
        show_default="your data folder",
        autocompletion=stores,
    ),
]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        envvar="SKR_MODEL",
        help="The model that answers: openai:gpt-4.1-mini, anthropic:claude-haiku-4-5, any name "
        "with --base-url, or module:name for a model of your own program. `extractive` needs no "
        "key, and only quotes sentences. SKR_TEMPERATURE sets the temperature.",
        autocompletion=models,
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        envvar="SKR_BASE_URL",
        help="Address of an OpenAI-compatible server, such as Ollama, vLLM or LM Studio. "
        "OPENAI_BASE_URL works too.",
    ),
]
Deadline = Annotated[
    float | None,
    typer.Option(
        "--deadline",
        min=0.001,
        help="Seconds for one question. The best draft so far is then the answer.",
    ),
]
Embedder = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        envvar="SKR_EMBEDDER",
        help="For search by meaning: a sentence-transformers model (name or folder), or `hashing`, "
        "which needs no download. By default what the store was made with; a new store is searched "
        "by words.",
        show_default=False,
    ),
]
SearchMode = Literal["hybrid", "dense", "bm25"]
Search = Annotated[
    SearchMode,
    typer.Option(
        "--search",
        envvar="SKR_SEARCH",
        help="Search by words (bm25), by meaning (dense), or by both (hybrid).",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Use a router that was made with another model or store."),
]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The model that answers, and what asking it may cost."""

    model: Model = ""
    base_url: BaseUrl = None
    deadline: Deadline = None
    max_spend: Annotated[
        float | None,
        typer.Option(
            "--max-spend",
            min=0.0,
            help="US dollars that this command may spend; needs --prices. Answers so far are kept.",
        ),
    ] = None
    prices: Annotated[
        Path | None,
        typer.Option(
            "--prices",
            help="JSON file of prices in US dollars per million tokens: "
            '{"MODEL": {"prompt": 1, "completion": 2, "cache_read": 0.25}}. The price of cached '
            "input, cache_read, may be left out.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SystemOptions(ModelOptions):
    """The system that answers: how it searches, and the settings of its loop."""

    retriever: Annotated[
        str | None,
        typer.Option(
            "--retriever",
            metavar="MODULE:NAME",
            help="Search with a retriever of your own program instead of the store, such as "
            "app:retriever: a LangChain or LlamaIndex object, or a function that makes one.",
        ),
    ] = None
    embedder: Embedder = None
    search: Search = "hybrid"
    max_rounds: Annotated[
        int,
        typer.Option("--max-rounds", min=1, help="How often one question is searched for at most."),
    ] = LIMITS.max_rounds
    templates: Annotated[
        Path | None,
        typer.Option(
            "--templates",
            help="JSON file with your own words for the prompts: some of answer_directly, "
            "answer_with_references, answer_anyway and self_complete.",
        ),
    ] = None
    when_insufficient: Annotated[
        WhenInsufficient,
        typer.Option(
            "--when-insufficient",
            metavar="<name>",
            help="What to answer when no search found enough: best_draft, own_knowledge (the best "
            "draft, or else what the model knows) or refuse.",
        ),
    ] = Settings.when_insufficient
    reflector: Annotated[
        str,
        typer.Option(
            "--reflector",
            help="What judges whether enough was found: refusal (the model's own verdict), judge "
            "or judge:MODEL (one more call), entailment:lexical, entailment:nli:NAME or "
            "entailment:judge:MODEL (each sentence must follow from what it cites), or "
            "learned:FILE (made by `skr calibrate --reflector`).",
        ),
    ] = "refusal"
    decompose: Annotated[
        bool,
        typer.Option(
            "--decompose", help="Split the question into parts before searching; costs one call."
        ),
    ] = Settings.decompose


@dataclass(frozen=True, kw_only=True)
class AskOptions(SystemOptions):
    """The system that answers a person's questions, over a store that is there already."""

    store: Store = DEFAULT_STORE
    max_calls: Annotated[
        int | None,
        typer.Option("--max-calls", min=1, help="Calls of the model for one question, at most."),
    ] = LIMITS.max_calls
    router: Annotated[
        Path | None,
        typer.Option(
            "--router",
            help="Decides whether to search: the file that `skr calibrate` made, or the name of a "
            "router that needs no records, such as never or confidence:explain. Without a router "
            "every question is searched for.",
            autocompletion=routers,
        ),
    ] = None
    abstain_below: Annotated[
        float | None,
        typer.Option(
            "--abstain-below",
            min=0,
            max=1,
            help="Give no answer that is less likely to be right than this. `skr calibrate` says "
            "how often answers are right.",
        ),
    ] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class BatchOptions(SystemOptions):
    """The system that answers a file of questions, and what it searches."""

    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            envvar="SKR_STORE",
            help="The store of your documents: a folder, or the address of `skr store serve`.",
            show_default="the passages in the questions file, or else your data folder",
            autocompletion=stores,
        ),
    ] = None
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus",
            help="Search this JSON Lines file (id, title, text) instead of a store. It is ingested "
            "for this run alone.",
        ),
    ] = None
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            metavar="<name>",
            help="The format of the questions file, where a package has registered one. skr-lab "
            "brings those of published data sets, such as hotpotqa.",
        ),
    ] = None
    question_field: Annotated[
        str | None,
        typer.Option("--question-field", help="The field that holds the question."),
    ] = None
    answer_field: Annotated[
        str | None,
        typer.Option("--answer-field", help="The field that holds the right answers."),
    ] = None
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Ask only this many questions.")
    ] = None
    concurrency: Annotated[
        int,
        typer.Option("--concurrency", min=1, help="Questions that are asked at the same time."),
    ] = 8
    requests_per_second: Annotated[
        float | None,
        typer.Option(
            "--requests-per-second", min=0.0, help="Requests to models in a second, at most."
        ),
    ] = None
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            envvar="SKR_CACHE",
            help="Folder that keeps the models' replies: what was asked before costs nothing.",
        ),
    ] = None
    skip_bad: SkipBad = False
    metric: Annotated[
        Metric | None,
        typer.Option(
            "--metric",
            help="How an answer is compared with the right ones. By default it has to contain one "
            "of them; where the right answers are sentences, `f1` counts shared words.",
            show_default=False,
        ),
    ] = None
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            help="A model that says whether an answer is right, instead of --metric.",
            autocompletion=models,
        ),
    ] = None
    rubric: Annotated[
        Path | None,
        typer.Option("--rubric", help="Text file that tells the judge what a right answer is."),
    ] = None
    marked: Annotated[
        Path | None,
        typer.Option(
            "--marked",
            help="JSON Lines of answers that a person has marked: question, answers, reply, and "
            "right (true or false). How often the judge or metric agrees is said first.",
        ),
    ] = None
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Say what it will cost, and begin without asking. In a pipe nothing is ever "
            "asked.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class AimOptions:
    """The records that are looked at, and what a rule for them is chosen for."""

    actions: Annotated[
        str | None,
        typer.Option(
            "--actions",
            help="Choose among these ways to answer: direct, and single, loop or both, with commas "
            "between. By default all that were recorded.",
        ),
    ] = None
    retrieval_rate: Annotated[
        float | None,
        typer.Option(
            "--retrieval-rate",
            min=0,
            max=1,
            help="Aim: the best accuracy when at most this share of questions is searched for.",
        ),
    ] = None
    cost_weight: Annotated[
        float | None,
        typer.Option(
            "--cost-weight",
            min=0,
            help="Aim: the best accuracy, less this for each search, call, 1,000 tokens or dollar.",
        ),
    ] = None
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", min=0, help="Aim: the best accuracy at this cost for each question."
        ),
    ] = None
    stream: Annotated[
        bool,
        typer.Option(
            "--stream/--no-stream",
            help="Choose a router whose answers can be streamed: it serves the last answer that it "
            "asked for.",
            rich_help_panel="Aim",
        ),
    ] = False
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="FIELD",
            help="Say what it is worth for each value of this field, such as extra.dataset.",
            show_default=False,
        ),
    ] = ""
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="FIELD=VALUE",
            help="Use only records with this value, such as model=gpt-4.1-mini. May be repeated.",
        ),
    ] = None
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder",
            help="Learn from the meaning of questions and answers too: a sentence-transformers "
            "model, or `hashing`. By default from words and numbers alone.",
            rich_help_panel="Routing",
        ),
    ] = None
    skip_bad: SkipBad = False

    @property
    def aim(self) -> dict[str, Any]:
        """The arguments of `calibrate` and `replay` that these options are."""
        return {
            "actions": split(self.actions) or None,
            "retrieval_rate": self.retrieval_rate,
            "cost_weight": self.cost_weight,
            "budget": self.budget,
            "stream": self.stream,
            "by": self.by,
        }


def split(names: str | None) -> list[str]:
    """The names of an option that takes several, with commas between.

    Example:
        >>> split("direct, single")
        ['direct', 'single']
    """
    return [name.strip() for name in (names or "").split(",") if name.strip()]
