"""A router, a reflector and a source of questions of one's own: one method, one place."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from skr_app.opening import load_questions
from skr_core import Decision, Question, Reference, Reflection, Settings, load_router, registry
from skr_core.errors import InputError
from skr_core.ports import Reflector, Router
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import GraphAnswerer

asked_in: list[threading.Thread] = []


class Weekdays:
    """Retrieve for what the question says of days."""

    def decide(self, question: str) -> Decision:
        asked_in.append(threading.current_thread())
        return Decision("day" in question)


class Long:
    """Find short drafts insufficient."""

    def reflect(self, question: str, references: list[Reference], draft: str) -> Reflection:
        asked_in.append(threading.current_thread())
        return Reflection(len(draft) > 3, "")


class AsksTheModel:
    def __init__(self, model: object) -> None:
        self.model = model

    def decide(self, question: str) -> Decision:
        return Decision(True)


class Fitted:
    def __init__(self, records: list[object]) -> None:
        raise AssertionError("it cannot be made by its name")


def read_lines(path: Path) -> Iterator[Question]:
    for number, line in enumerate(path.read_text().splitlines()):
        text, _, gold = line.partition(" = ")
        yield Question(str(number), text, (gold,))


def read_words(path: Path) -> list[str]:
    return path.read_text().split()


class Answers:
    """Return what a router and a reflector do not."""

    def decide(self, question: str) -> object:
        return "yes"

    def reflect(self, question: str, references: object, draft: str) -> object:
        return True


class Waits:
    async def decide(self, question: str) -> Decision:
        return Decision(True)


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(kind: str) -> dict[str, EntryPoint]:
        names = {
            "routers": {
                "weekdays": "Weekdays",
                "model": "AsksTheModel",
                "fitted": "Fitted",
                "gone": "Gone",
            },
            "reflectors": {"long": "Long"},
            "questions": {"lines": "read_lines", "words": "read_words"},
        }[kind]
        return {
            name: EntryPoint(name, f"{__name__}:{each}", f"skr_rag.{kind}")
            for name, each in names.items()
        }

    monkeypatch.setattr(registry, "_announced", of)


def system(**options: object) -> Settings:
    model = ScriptedModel({"answer_directly": ["Noon."]}, otherwise="At one o'clock [1].")
    search = MappingRetriever({"Which day?": ["It is day."], "Who?": ["It is she."]})
    return Settings.of(model, search, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["sync", "async"])
def test_one_method_is_enough(form: str) -> None:
    asked_in.clear()
    answerer = GraphAnswerer(system(router=Weekdays(), reflector=Long()))
    for question, text in (("Which day?", "At one o'clock [1]."), ("Who?", "Noon.")):
        asking = answerer.aanswer if form == "async" else answerer.answer
        found = asking(question)
        answer = asyncio.run(found) if form == "async" else found  # type: ignore[arg-type]
        assert answer.text == text  # type: ignore[union-attr]
    if form == "async":  # an event loop waits for nobody
        assert threading.main_thread() not in asked_in


def test_what_has_both_forms_is_taken_as_it_is() -> None:
    both = system(router=Weekdays(), reflector=Long())
    assert isinstance(both.router, Router)
    assert isinstance(both.reflector, Reflector)
    assert system(router=both.router).router is both.router
    for wrong in (Weekdays, 42):
        with pytest.raises(InputError, match="a router has decide"):
            system(router=wrong)


def test_what_returns_something_else_is_named() -> None:
    for options, said in (
        ({"router": Answers()}, r"Answers.decide returned str, not a Decision"),
        ({"reflector": Answers()}, r"Answers.reflect returned bool, not a Reflection"),
        ({"router": Waits()}, r"Waits.decide is async: .* beside it as adecide"),
    ):
        with pytest.raises(InputError, match=said):
            GraphAnswerer(system(**options)).answer("Which day?")


@pytest.mark.usefixtures("announced")
def test_a_registered_router_is_found_by_its_name(tmp_path: Path) -> None:
    assert load_router("weekdays").decide("Which day?").retrieve
    assert isinstance(system(router="weekdays").router, Router)
    assert load_router("model", model=ScriptedModel(["No."])).decide("Who?").retrieve
    with pytest.raises(InputError, match="'model' asks a model: give model="):
        load_router("model")
    with pytest.raises(InputError, match="'fitted' is made of records: make it first"):
        load_router("fitted")
    assert isinstance(system(reflector="long").reflector, Reflector)
    with pytest.raises(InputError, match=r"'gone' of routers is .*:Gone, which fails: "):
        load_router("gone")
    with pytest.raises(
        InputError, match=r"no saved router or reflector at .* and none is registered by that"
    ):
        load_router(tmp_path / "nothing")


@pytest.mark.usefixtures("announced")
def test_a_registered_source_of_questions_is_found_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "quiz.txt"
    file.write_text("Who? = She\nWhen? = Now\n")
    assert [each.gold for each in load_questions(file, "lines", limit=1)] == [("She",)]
    with pytest.raises(InputError, match="--dataset words gave str, not a Question"):
        load_questions(file, "words")
    with pytest.raises(InputError, match="--skip-bad cannot stand beside --dataset lines"):
        load_questions(file, "lines", skip_bad=True)
    with pytest.raises(InputError, match="no questions are registered as 'quiz'"):
        load_questions(file, "quiz")
