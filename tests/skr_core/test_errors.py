from __future__ import annotations

import pickle

import pytest

from skr_core import Answer, Decision, Reference, Round
from skr_core.errors import (
    MAX_LINE,
    DataError,
    InputError,
    MissingDependency,
    ModelError,
    RetrieverError,
    failure,
    retrieved,
    translated,
)


def test_what_another_library_raises_becomes_one_line_with_its_root() -> None:
    with pytest.raises(ModelError) as caught, translated(ModelError, "mine"):
        raise RuntimeError("Connection error.") from OSError("no route\nto host")
    told = "mine: RuntimeError: Connection error. <- OSError: no route to host"
    assert str(caught.value) == told
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(ModelError) as caught, translated(ModelError, "mine"):
        raise RuntimeError("x" * 10_000)
    assert len(str(caught.value)) == len("mine: ") + MAX_LINE


def test_errors_of_ours_and_a_frameworks_control_flow_go_through() -> None:
    class Bubble(Exception):
        pass

    with pytest.raises(InputError, match=r"^as it was$"), translated(ModelError, "mine"):
        raise InputError("as it was")
    with pytest.raises(Bubble), translated(ModelError, "mine", Bubble):
        raise Bubble
    with pytest.raises(ModelError), translated(ModelError, "mine"):
        raise Bubble
    with pytest.raises(KeyboardInterrupt), translated(ModelError, "mine"):
        raise KeyboardInterrupt


class Busy(Exception):
    """As OpenAI's errors are: made of more than a message."""

    def __init__(self, message: str, *, status_code: int) -> None:
        super().__init__(message)
        self.status_code = status_code

    def __str__(self) -> str:
        return "what it says itself"


def test_an_error_is_caught_by_the_class_of_its_cause_too() -> None:
    with pytest.raises(Busy) as caught, translated(ModelError, "mine"):
        raise Busy("slow down", status_code=429)
    error = caught.value
    assert isinstance(error, ModelError)
    assert str(error).startswith("mine: Busy: what it says itself; it takes no more for now")
    assert (error.status_code, type(error.__cause__)) == (429, Busy)
    again = failure(ModelError, "all failed", error)
    assert isinstance(again, Busy)
    assert (str(again), again.status_code) == ("all failed", 429)


def test_it_travels_to_another_process_as_ours() -> None:
    error = failure(ModelError, "mine: slow down", Busy("slow down", status_code=429))
    travelled = pickle.loads(pickle.dumps(error))
    assert (type(travelled), str(travelled)) == (ModelError, "mine: slow down")


@pytest.mark.parametrize(
    "error", [DataError("a.jsonl", 3, "no JSON"), MissingDependency("bs4", "documents")]
)
def test_errors_with_parts_travel_whole(error: Exception) -> None:
    travelled = pickle.loads(pickle.dumps(error))
    assert type(travelled) is type(error)
    assert (str(travelled), vars(travelled)) == (str(error), vars(error))


@pytest.mark.parametrize("cause", [TypeError("a bug"), StopIteration(), OSError(2, "gone"), None])
def test_an_exception_of_python_itself_is_a_cause_alone(cause: BaseException | None) -> None:
    assert type(failure(ModelError, "mine", cause)) is ModelError


def test_a_class_that_lets_none_be_derived_from_it_is_a_cause_alone() -> None:
    from pydantic import TypeAdapter, ValidationError

    with pytest.raises(ModelError) as caught, translated(ModelError, "mine"):
        TypeAdapter(int).validate_python("x")
    assert type(caught.value) is ModelError
    assert isinstance(caught.value.__cause__, ValidationError)


def test_nothing_retrieved_because_everything_failed_is_an_error() -> None:
    def answer(*references: Reference, stop_reason: str) -> Answer:
        rounds = (Round(("Who?",), errors=("a failed",)), Round(("Whom?",), errors=("b failed",)))
        return Answer("Who?", "", (), references, Decision(True), rounds, stop_reason, {})  # type: ignore[arg-type]

    found = Reference.of("Text.")
    assert retrieved(answer(stop_reason="no_new_references")) == ()
    assert retrieved(answer(found, stop_reason="retriever_failed")) == (found,)
    with pytest.raises(RetrieverError, match=r"^a failed; b failed$"):
        retrieved(answer(stop_reason="retriever_failed"))
