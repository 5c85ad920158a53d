"""A system as the options of a command describe it, opened wherever it is asked.

The description pickles, so that a worker opens the same system as the command itself: of clients,
stores and models none leaves a process.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from skr_app.configured import make_settings
from skr_app.limits import Limits, in_time, keeping_to
from skr_app.opening import (
    make_model,
    open_cache,
    open_likelihoods,
    open_store,
    store_embedder,
    through,
)
from skr_app.options import WhenInsufficient
from skr_app.reflecting import open_reflector
from skr_app.systems import make_systems
from skr_learn.self_knowledge import Judge

if TYPE_CHECKING:
    from skr_core.settings import Settings
    from skr_graphs import GraphAnswerer
    from skr_learn.evaluation.asking import System
    from skr_store.chroma_store import ChromaStore
    from skr_store.hybrid_search import SearchMode


@dataclass(frozen=True, kw_only=True)
class Described:
    """The options of a system, as `skr_app.options` says what they mean.

    Attributes:
        limits: What its models keep to.
        address: Of the store's server, for whoever opens the system elsewhere.
        folder: The command's own, which relative paths begin at.
    """

    model: str
    base_url: str | None
    embedder: str
    search: SearchMode
    reflector: str
    likelihoods: bool
    max_rounds: int
    when_insufficient: WhenInsufficient
    decompose: bool
    templates: str | None
    demonstrations: Path | None
    cache: Path | None
    router: Path | None = None
    force: bool = False
    limits: Limits = field(default_factory=Limits)
    address: str = ""
    folder: str = field(default_factory=os.getcwd)

    def open(self, stack: ExitStack, searched: ChromaStore) -> Settings:
        """Open the system, which searches a store that is open already.

        Raises:
            SKRError: An option cannot be used.
        """
        kept = open_cache(stack, self.cache)
        model = through(kept, make_model(self.model, self.base_url))
        return make_settings(
            model,
            searched,
            router=self.router,
            force=self.force,
            reflector=open_reflector(
                self.reflector,
                model,
                searched,
                base_url=self.base_url,
                cache=kept,
                force=self.force,
            ),
            likelihoods=open_likelihoods(self.model, self.base_url) if self.likelihoods else None,
            max_rounds=self.max_rounds,
            when_insufficient=self.when_insufficient.value,
            decompose=self.decompose,
            templates=self.templates,
            demonstrations=self.demonstrations,
        )

    def answerer(self) -> GraphAnswerer:
        """The system, opened for as long as this process lasts."""
        from skr_graphs import GraphAnswerer

        with self._here():
            return GraphAnswerer(self.open(_opened(), self._store()))

    def judge(self, name: str) -> Judge:
        """A judge within the same limits, through the same cache."""
        with self._here():
            kept = open_cache(_opened(), self.cache)
            return Judge(through(kept, make_model(name, self.base_url)))

    def systems(self, names: str) -> Mapping[str, System]:
        """The systems that ``skr evaluate`` compares, opened for as long as this process lasts.

        Args:
            names: Names of systems, as ``--systems`` gives them.
        """
        with self._here():
            settings = self.open(_opened(), self._store())
            made = make_systems(names, settings, has_router=self.router is not None)
            return {each.name: in_time(each) for each in made}

    def _store(self) -> ChromaStore:
        embedder = store_embedder(self.embedder)
        return _opened().enter_context(open_store(self.address, embedder, self.search))

    @contextmanager
    def _here(self) -> Iterator[None]:
        """In the command's folder, where this machine has it, and within its limits."""
        with suppress(OSError):
            os.chdir(self.folder)
        with keeping_to(self.limits):
            yield


@cache
def _opened() -> ExitStack:
    """What stays open until the process ends."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack
