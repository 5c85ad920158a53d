"""ModelRouter: what the routers that ask the model itself have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from skr_core.errors import DataError, InputError
from skr_core.flow import Flow, arun, run
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.ports import Embedder, LanguageModel, Retriever
from skr_core.prompts.asking import checked_question
from skr_core.prompts.routing import ROUTING_VERSION
from skr_core.routers.saving import ROUTER_FILE, SavedRouter, read_router
from skr_core.types import Decision

QUOTED = 120
"""Characters of a model's words that a reason quotes."""


class ModelRouter(ABC):
    """A router that decides by asking a model; a subclass writes one flow.

    What such a router says holds for one model and one wording, so both are saved with it.

    Args:
        model: The one that would answer; what another model knows says nothing about it.

    Attributes:
        max_rounds: Rounds of retrieval where it decides to retrieve; None is what the budget says.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> class Polite(ModelRouter):
        ...     kind = "polite"
        ...     def _decision(self, question):
        ...         yield from ()
        ...         return Decision(question.endswith("please?"), reason="manners")
        ...     def _parameters(self):
        ...         return {}
        >>> Polite(ScriptedModel()).decide("Who wrote Emma, please?").retrieve
        True
    """

    kind: ClassVar[str]
    max_rounds: int | None = None

    def __init__(self, model: AnyModel) -> None:
        self._model = as_language_model(model)

    def decide(self, question: str) -> Decision:
        """Decide with blocking calls.

        Raises:
            InputError: The question is empty.
            ModelError: The model failed.
        """
        return run(self._limited(checked_question(question)))

    async def adecide(self, question: str) -> Decision:
        """Decide with awaited calls."""
        return await arun(self._limited(checked_question(question)))

    def save(self, path: str | Path) -> None:
        """Write the router to a folder, without its model."""
        stamp = {"model": self._model.name, "wording": ROUTING_VERSION}
        limit = {} if self.max_rounds is None else {"max_rounds": self.max_rounds}
        SavedRouter(self.kind, stamp, self._parameters() | limit).write(path)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        model: LanguageModel | None = None,
        embedder: Embedder | None = None,
        retriever: Retriever | None = None,
        force: bool = False,
    ) -> Self:
        """Read a router that `save` wrote.

        Args:
            path: The folder.
            model: To ask.
            embedder: Not used by routers that ask a model.
            retriever: Not used either.
            force: Take it although it was made for another model or wording.

        Raises:
            InputError: There is no such router, or no model.
            DataError: Its file is broken.
            StampMismatch: It was made for another model or wording.
        """
        saved = read_router(path)
        if saved.kind != cls.kind:
            raise InputError(f"{path} holds a {saved.kind} router, not a {cls.kind} router")
        if model is None:
            raise InputError(f"a {cls.kind} router asks a model: give model=")
        saved.check(force=force, model=model.name, wording=ROUTING_VERSION)
        parameters = dict(saved.parameters)
        limit = parameters.pop("max_rounds", None)
        try:
            router = cls(model, **parameters)
            router.max_rounds = limit
            return router
        except TypeError as error:
            raise DataError(Path(path) / ROUTER_FILE, None, str(error)) from error

    def _limited(self, question: str) -> Flow[Decision]:
        decision = yield from self._decision(question)
        if decision.retrieve and self.max_rounds is not None:
            return replace(decision, max_rounds=self.max_rounds)
        return decision

    @abstractmethod
    def _decision(self, question: str) -> Flow[Decision]:
        """Ask and decide."""

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """What the constructor needs beside the model, as plain values."""


def quoted(text: str) -> str:
    """A model's words for a reason: on one line, shortened.

    Example:
        >>> quoted("No,  I don't." + chr(10) + "Really.")
        '"No, I don\\'t. Really."'
    """
    words = " ".join(text.split())
    return f'"{words}"' if len(words) <= QUOTED else f'"{words[:QUOTED].rstrip()} …"'
