"""A cache of replies never hands one tenant what was said from another's words or passages.

Both ask the same questions in the same words. LangChain's cache, set for the whole process, and the
one of collecting stand between every drop-in and one model, which says what it was shown.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from langchain_core.caches import RETURN_VAL_TYPE, BaseCache, InMemoryCache
from langchain_core.documents import Document
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda

from langchain_skr import create_skr_chain
from langchain_skr.models import as_language_model
from skr_core import Prompt
from skr_core.types import Image
from skr_learn.reply_cache import CachedModel, ReplyCache
from tests.parity.tenants import DOORS, LANGCHAIN, TENANT, TENANTS, App, question, tenant_of
from tests.skr_graphs.doubles import ListStore

SLOGANS = {tenant: f"Speak as {tenant}'s keeper." for tenant in TENANTS}


class Teller(BaseChatModel):
    """Says whose passages and whose instructions it was shown, and how warm it is."""

    temperature: float = 0.0
    calls: list[str] = []  # noqa: RUF012 - pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "teller"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"temperature": self.temperature}

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        text = "\n".join(str(each.text) for each in messages)
        self.calls.append(text)
        shown = [tenant for tenant in TENANTS if tenant in text]
        number = re.findall(r"burns in lamp(\d+)", text)[-1]
        if int(number) % 3 == 0 and f"keeper of lamp{number} came" not in text:
            said = f"INSUFFICIENT\nSearch: the keeper of lamp{number}"
        else:
            said = f"SUFFICIENT\nColza oil, say {' and '.join(shown)} at {self.temperature} [1]."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


search = RunnableLambda(lambda query: [Document("Lamp1: colza oil.")])


class InSQLite(BaseCache):
    """What LangChain's cache in SQLite keeps, by the same key."""

    def __init__(self, path: Path) -> None:
        self.kept = ReplyCache(path)

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        found = self.kept.get(json.dumps([prompt, llm_string]))
        if found is None:
            return None
        return [ChatGeneration(message=AIMessage(each)) for each in json.loads(found)]

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        said = [each.text for each in return_val]
        self.kept.put(json.dumps([prompt, llm_string]), json.dumps(said))

    def clear(self, **kwargs: Any) -> None:
        raise NotImplementedError


def in_memory(path: Path, model: Teller) -> Any:
    set_llm_cache(InMemoryCache())
    return as_language_model(model)


def in_sqlite(path: Path, model: Teller) -> Any:
    set_llm_cache(InSQLite(path / "langchain.sqlite"))
    return as_language_model(model)


def in_ours(path: Path, model: Teller) -> Any:
    return CachedModel(model, ReplyCache(path / "ours.sqlite"))


CACHES = {"memory": in_memory, "SQLite": in_sqlite, "ours": in_ours}
ALL = {**DOORS, **LANGCHAIN}
CASES = [
    *product(["memory"], sorted(ALL)),
    *product(["SQLite", "ours"], ["chain", "engine", "graph", "looping retriever"]),
]


@pytest.fixture
def cached(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[Teller], Any]]:
    yield lambda model: CACHES[request.param](tmp_path, model)
    set_llm_cache(None)


def app_of(model: Any, **options: Any) -> App:
    return App(
        ListStore(),
        model=model,
        options={"instructions": lambda config: SLOGANS[tenant_of(config)], **options},
        engine_options={"instructions": lambda: SLOGANS[TENANT.get()], **options},
    )


def is_of(said: object, tenant: str) -> bool:
    return [each for each in TENANTS if each in str(said)] == [tenant]


@pytest.mark.parametrize(("cached", "name"), CASES, indirect=["cached"])
def test_no_reply_crosses(cached: Callable[[Teller], Any], name: str):
    teller = Teller()
    door = ALL[name](app_of(cached(teller)))
    for tenant in TENANTS:
        assert is_of(door.ask(tenant, question(3)), tenant)
    for tenant in TENANTS:  # now from the cache, where nothing else was remembered meanwhile
        assert is_of(asyncio.run(door.aask(tenant, question(3))), tenant)
    assert all(sum(each in text for each in TENANTS) == 1 for text in teller.calls)


@pytest.mark.parametrize("cached", CACHES, indirect=True)
def test_instructions_alone_tell_replies_apart(cached: Callable[[Teller], Any]):
    """With the very same passages and questions, and what was asked before costs no call."""
    teller = Teller()
    model = cached(teller)
    chains = {
        tenant: create_skr_chain(model, search, instructions=SLOGANS[tenant]) for tenant in TENANTS
    }
    for tenant in (*TENANTS, *TENANTS):
        assert is_of(chains[tenant].invoke(question(1)), tenant)
    assert len(teller.calls) == len(TENANTS)


@pytest.mark.parametrize("cached", CACHES, indirect=True)
def test_another_temperature_is_another_reply(cached: Callable[[Teller], Any]):
    for warmth in (0.0, 0.9, 0.0):
        chain = create_skr_chain(cached(Teller(temperature=warmth)), search)
        assert f"at {warmth}" in chain.invoke(question(1))


def test_our_key_holds_all_that_a_reply_depends_on(tmp_path: Path):
    model = CachedModel(Teller(), ReplyCache(tmp_path / "ours.sqlite"))
    plain = {"task": "answer_directly", "text": "Who?", "question": "Who?"}
    others: list[dict[str, Any]] = [
        {"text": "Whom?"},
        {"system": "Be brief."},
        {"history": ("Hello.",)},
        {"sample": 1},
        {"task": "judge"},
        {"images": (Image(data="MQ=="),)},
        {"images": (Image(data="Mg=="),)},
        {"schema": {"type": "object"}},
    ]
    keys = {model._key(Prompt(**{**plain, **each})) for each in ({}, *others)}
    assert len(keys) == 1 + len(others)
    colder = CachedModel(Teller(temperature=0.5), model.cache)
    assert colder._key(Prompt(**plain)) not in keys
