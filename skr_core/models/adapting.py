"""as_language_model: a framework's model where one of ours is wanted, without its being wrapped.

Each plug-in knows its framework's models. It is imported when such a model is given, by name, so
that nothing here depends on a framework.

Example:
    >>> from skr_core.routers import PromptRouter
    >>> from langchain_core.language_models import FakeListChatModel
    >>> PromptRouter(FakeListChatModel(responses=["No, I don't."])).decide("Who?").retrieve
    False
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from skr_core.errors import InputError
from skr_core.ports import LanguageModel


class LangChainModelLike(Protocol):
    """What a LangChain model shows of itself, also behind ``bind`` or ``with_fallbacks``."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Answer."""


class LlamaIndexModelLike(Protocol):
    """What a LlamaIndex LLM shows of itself."""

    @property
    def metadata(self) -> Any:
        """What the model is able to do."""

    @property
    def chat(self) -> Any:
        """Answer."""


AnyModel = LanguageModel | LangChainModelLike | LlamaIndexModelLike
"""What routers and judges take for a model."""

ADAPTERS = {
    "langchain_core": "langchain_skr.adapters",
    "llama_index": "llamaindex_skr.adapters",
}
"""By the framework that a class comes from: the module whose `as_language_model` takes it."""


def as_language_model(model: AnyModel) -> LanguageModel:
    """Make a `LanguageModel` of what a caller gave.

    Args:
        model: A `LanguageModel`, which is passed through, a LangChain model or a LlamaIndex LLM.

    Raises:
        InputError: It is none of these.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> as_language_model(ScriptedModel(name="mine")).name
        'mine'
    """
    # Before the port: LangChain's models have a `generate` of their own, with another meaning.
    given: object = model
    for base in type(given).__mro__:
        if adapter := ADAPTERS.get(base.__module__.partition(".")[0]):
            adapted: LanguageModel = import_module(adapter).as_language_model(given)
            return adapted
    if isinstance(given, LanguageModel):
        return given
    raise InputError(
        f"a model is wanted, not {type(given).__name__}: "
        "give a LangChain chat model, a LlamaIndex LLM or a LanguageModel"
    )
