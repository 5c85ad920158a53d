"""ModelRouter: what the routers that ask the model itself have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

from skr_core.errors import DataError, InputError
from skr_core.flow import Flow, arun, run
from skr_core.learning.rows import TextEmbedder
from skr_core.ports import LanguageModel, Retriever
from skr_core.prompts.routing import ROUTING_PROMPT_VERSION
from skr_core.prompts.templates import checked_question
from skr_core.routers.saving import ROUTER_FILE, SavedRouter, read_router
from skr_core.types import Decision

QUOTED = 120
"""Characters of a model's words that a reason quotes."""


class ModelRouter(ABC):
    """A router that decides by asking a model; a subclass writes one flow.

    What such a router says holds for one model and one wording, so both are saved with it.

    Args:
        model: The one that would answer; what another model knows says nothing about it.

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

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def decide(self, question: str) -> Decision:
        """Decide with blocking calls.

        Raises:
            InputError: The question is empty.
            ModelError: The model failed.
        """
        return run(self._decision(checked_question(question)))

    async def adecide(self, question: str) -> Decision:
        """Decide with awaited calls."""
        return await arun(self._decision(checked_question(question)))

    def save(self, path: str | Path) -> None:
        """Write the router to a folder, without its model."""
        stamp = {"model": self._model.name, "prompt_version": ROUTING_PROMPT_VERSION}
        SavedRouter(self.kind, stamp, self._parameters()).write(path)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        model: LanguageModel | None = None,
        embedder: TextEmbedder | None = None,
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
        saved.check(force=force, model=model.name, prompt_version=ROUTING_PROMPT_VERSION)
        try:
            return cls(model, **saved.parameters)
        except TypeError as error:
            raise DataError(Path(path) / ROUTER_FILE, None, str(error)) from error

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
