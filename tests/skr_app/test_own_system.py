"""A retriever and a model of one's own program, by the command and in Python: one measurement."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from fastapi import UploadFile
from mcp import Client

from langchain_skr import create_skr_chain
from llamaindex_skr import SKRQueryEngine
from skr_app.commands.mcp import create_server
from skr_app.commands.serve import open_system
from skr_app.importing import import_model, import_retriever
from skr_app.models import Models
from skr_app.opening import open_retriever, open_settings
from skr_app.options import AskOptions
from skr_app.web.documents import Documents
from skr_core.errors import InputError
from skr_core.questions import read_questions
from skr_learn import Records, acollect, collect
from tests import worlds
from tests.skr_app.conftest import Skr

PROGRAM = '''
"""A program of somebody's, with the parts of a system in both frameworks."""

import json
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from tests import worlds
from tests.llamaindex_skr.fakes import Speaker

PASSAGES = [json.loads(line) for line in Path("corpus.jsonl").read_text().splitlines()]


def found(query):
    words = {word.strip("?.") for word in query.split()}
    ranked = sorted(PASSAGES, key=lambda each: -len(words & {*each["title"].split()}))
    return ranked[:3]


def say(prompt):
    return worlds.reply([{"content": prompt}])


def documents(query):
    # Without titles: the two frameworks show models the metadata of a passage each in its own way.
    return [Document(each["text"]) for each in found(query)]


model = RunnableLambda(lambda messages: AIMessage(say(str(messages[-1].content))), name="own")


def retriever():
    return RunnableLambda(documents, name="own")


class Search(BaseRetriever):
    def _retrieve(self, query):
        texts = (each["text"] for each in found(query.query_str))
        return [NodeWithScore(node=TextNode(text=text), score=1.0) for text in texts]


def llm():
    return Speaker(say)


broken = None


def fails():
    raise OSError("no such index")
'''


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The folder of a program that has been imported by nobody, as the current one."""
    facts = worlds.half_known(6, "half out of date")
    facts += [worlds.office_fact(name, "right") for name in worlds.NAMES[30:34]]
    worlds.write_corpus(tmp_path, facts)
    worlds.write(tmp_path, "questions.jsonl", facts)
    (tmp_path / "harbour.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("harbour", None)


def figures(records: Records) -> list[Any]:
    """All that was measured, but for the names of what was asked."""
    return [
        (record.question, action, outcome.score, outcome.usage, outcome.retrievals)
        for record in sorted(records, key=lambda each: each.question)
        for action, outcome in record.outcomes.items()
    ]


def test_the_command_and_both_frameworks_measure_the_same(skr: Skr, program: Path):
    parts = ("--retriever", "harbour:retriever", "--model", "harbour:model")
    result = skr("collect", "questions.jsonl", *parts, "--out", "records.jsonl", "--json")
    assert result.code == 0, result.err
    by_command = Records.read("records.jsonl")
    assert by_command[0].stamp.corpus == "harbour:retriever"
    assert len({outcome.score for each in by_command for outcome in each.outcomes.values()}) == 2
    assert max(outcome.rounds for each in by_command for outcome in each.outcomes.values()) > 1

    import harbour  # as the command has found it

    asked = read_questions("questions.jsonl")
    found = harbour.retriever()
    apps: dict[str, Callable[[], Any]] = {
        "chain": lambda: create_skr_chain(harbour.model, found),
        "engine": lambda: SKRQueryEngine.from_defaults(harbour.Search(), llm=harbour.llm()),
    }
    for name, make in apps.items():
        assert figures(collect(asked, make())) == figures(by_command), name
        assert figures(asyncio.run(acollect(asked, make()))) == figures(by_command), name


def test_llamaindex_s_parts_are_adapted_by_the_command_too(skr: Skr, program: Path):
    langchain = ("--retriever", "harbour:retriever", "--model", "harbour:model")
    llamaindex = ("--retriever", "harbour:Search", "--model", "harbour:llm")
    one, other = (
        skr("evaluate", "questions.jsonl", *parts, "--json") for parts in (langchain, llamaindex)
    )
    assert (one.code, other.code) == (0, 0), (one.err, other.err)
    for system in ("single_shot", "loop"):
        same = [each.json[system] | {"seconds": 0} for each in (one, other)]
        assert same[0] == same[1]
    assert one.json["loop"]["answer_accuracy"] > one.json["single_shot"]["answer_accuracy"]


def test_one_question_is_answered_by_them(skr: Skr, program: Path):
    [first, *_] = read_questions("questions.jsonl")
    parts = ("--retriever", "harbour:retriever", "--model", "harbour:model")
    result = skr("ask", first.question, *parts, "--json")
    assert first.gold[0] in result.json["answer"], result.err


async def test_a_client_s_tools_search_them_and_list_no_documents(program: Path):
    options = AskOptions(retriever="harbour:retriever", model="harbour:model")
    with open_retriever(options) as retriever:
        settings = open_settings(options, Models.of(options), retriever)
        async with Client(create_server(settings, retriever)) as client:
            assert {each.name for each in (await client.list_tools()).tools} == {"ask", "search"}
            found = await client.call_tool("search", {"query": "Firm", "limit": 1})
            assert "The books of the firm" in str(found.structured_content)


def test_the_page_searches_them_and_takes_no_documents(program: Path, tmp_path: Path):
    options = AskOptions(retriever="harbour:retriever", model="harbour:model")
    models = Models.of(options)
    with open_system(options, models, demo=False) as (settings, store):
        assert settings.retriever is not None
        assert settings.retriever.retrieve("Firm Bel")
        assert store.count() == 0
        documents = Documents(tmp_path / "uploads", store, is_searched=False)
        with documents, pytest.raises(InputError, match="searches a retriever of its own"):
            documents.add([UploadFile(BytesIO(b"text"), filename="a.txt")])
    demo = open_system(options, models, demo=True)
    with pytest.raises(InputError, match="--demo searches its own passages"), demo:
        pass


def test_what_cannot_be_had_is_told(skr: Skr, program: Path):
    for spec, words in {
        "harbour": "give module:name",
        "nowhere:retriever": "there is no such module",
        "harbour:nothing": "the module harbour has no 'nothing'",
        "harbour:fails": "harbour:fails fails: OSError: no such index",
        "harbour:documents": "a retriever is wanted, not function",
    }.items():
        with pytest.raises(InputError, match=words):
            import_retriever(spec)
    assert import_model("openai:o3") is None
    with pytest.raises(InputError, match="a model is wanted"):
        import_model("harbour:PASSAGES")
    given = ("--retriever", "harbour:retriever", "--store", program)
    result = skr("collect", "questions.jsonl", *given)
    assert (result.code, "give one of --retriever" in result.err) == (2, True)


@pytest.mark.usefixtures("program")
def test_a_store_of_the_environment_gives_way(
    skr: Skr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKR_STORE", str(tmp_path / "store"))
    done = skr("collect", "questions.jsonl", "--retriever", "harbour:retriever", "--json")
    assert done.code == 0, done.err
