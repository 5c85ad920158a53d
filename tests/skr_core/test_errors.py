from __future__ import annotations

import pytest

from skr_core.errors import MAX_LINE, InputError, ModelError, RetrieverError, retrieved, translated
from skr_core.types import Answer, Decision, Reference, Round


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


def test_nothing_retrieved_because_everything_failed_is_an_error() -> None:
    def answer(*references: Reference, stop_reason: str) -> Answer:
        rounds = (Round(("Who?",), errors=("a failed",)), Round(("Whom?",), errors=("b failed",)))
        return Answer("Who?", "", (), references, Decision(True), rounds, stop_reason, {})  # type: ignore[arg-type]

    found = Reference.of("Text.")
    assert retrieved(answer(stop_reason="no_new_references")) == ()
    assert retrieved(answer(found, stop_reason="retriever_failed")) == (found,)
    with pytest.raises(RetrieverError, match=r"^a failed; b failed$"):
        retrieved(answer(stop_reason="retriever_failed"))
