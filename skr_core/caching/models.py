"""CachedModel: a model that is asked nothing twice."""

from __future__ import annotations

from dataclasses import replace

from skr_core.caching.adapting import AnyCache, as_cache
from skr_core.caching.keeping import keep, key_of, look_up
from skr_core.flow import Flow, arun, call, run
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.plain import to_plain
from skr_core.ports import LanguageModel, OnToken
from skr_core.types import Generation, Prompt


class CachedModel:
    """Keeps a model's replies, each under the model's name and settings and the prompt.

    A reply from the cache costs nothing: its usage counts a cached call, which no budget counts. It
    comes as one piece where a stream was asked for. What failed is asked again, and so is a reply
    that was cut off. Routers that draw samples ask for each of them; the cache tells them apart.

    Settings are read from the model's ``version``, which the adapters of both frameworks have:
    temperature, tokens at most, stop words and the like. A model of your own has one too where
    something else than its name decides what it replies.

    Args:
        model: A `LanguageModel`, a LangChain model or a LlamaIndex LLM.
        cache: A `SqliteCache`, a LangChain ``BaseCache``, a LlamaIndex ``BaseKVStore``, or any
            `Cache`.

    Attributes:
        name: The model's.

    Example:
        >>> from langchain_core.caches import InMemoryCache
        >>> from skr_core.testing import ScriptedModel
        >>> model = CachedModel(ScriptedModel(["Paris.", "Lyon."]), InMemoryCache())
        >>> prompt = Prompt("answer_directly", "Capital of France?", "Capital of France?")
        >>> model.generate(prompt).text, model.generate(prompt).text
        ('Paris.', 'Paris.')
        >>> usage = model.generate(prompt).usage
        >>> usage.calls, usage.cached_calls
        (0, 1)
    """

    def __init__(self, model: AnyModel, cache: AnyCache) -> None:
        self.model: LanguageModel = as_language_model(model)
        self.cache = as_cache(cache)

    @property
    def name(self) -> str:
        """The model's name: what was recorded with it holds for it without a cache too."""
        return self.model.name

    @property
    def version(self) -> str:
        """The model's settings, as far as it tells them."""
        return str(getattr(self.model, "version", ""))

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Look it up, or ask the model with a blocking call."""
        return run(self._generation(prompt, on_token))

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """The same, awaited."""
        return await arun(self._generation(prompt, on_token))

    def _generation(self, prompt: Prompt, on_token: OnToken | None) -> Flow[Generation]:
        model = self.model
        key = key_of("reply", self.name, self.version, _words(prompt))
        kept = yield from look_up(self.cache, key, Generation)
        if kept is not None and kept.text.strip():
            if on_token is not None:
                on_token(kept.text)
            return replace(kept, usage=kept.usage.from_cache())
        made = yield from call(model.generate, model.agenerate, prompt, on_token=on_token)
        if isinstance(made, Generation) and made.text.strip() and not made.is_cut_off:
            yield from keep(self.cache, key, made)
        return made


def _words(prompt: Prompt) -> object:
    """All that a model is shown; how well a retriever liked a reference is not."""
    references = [[each.title, each.text] for each in prompt.references]
    return {**to_plain(prompt), "references": references}
