"""Keys are taken out of what is told; nothing else is."""

from __future__ import annotations

import traceback

import pytest
from pydantic import BaseModel, SecretStr

from skr_core.errors import DataError, InputError, ModelError, translated
from skr_core.redaction import redact, remember, remember_keys

HELD = "correct.horse.battery"


@pytest.mark.parametrize(
    "told",
    [
        "Authorization: Bearer abc123.def456",
        "{'authorization': 'Bearer abc123.def456'}",
        "Authorization: Basic abc123.def456",
        'the header "bearer abc123.def456" is wrong',
        "x-api-key: abc123.def456",
        '{"api_key": "abc123.def456"}',
        "postgres://me:abc123.def456@db/x",
        "api-key=abc123.def456&model=a",
    ],
)
def test_forms_of_keys(told: str) -> None:
    assert "abc123" not in redact(told)
    assert "[redacted]" in redact(told)


@pytest.mark.parametrize("key", ["sk-proj-abcdefghijkl_mnopqrst", "gsk_abcdefghijklmnopqrst"])
def test_keys_of_known_providers(key: str) -> None:
    assert redact(f"wrong key: {key}.") == "wrong key: [redacted]."


@pytest.mark.parametrize(
    "told",
    [
        "questions.jsonl, line 3: this line is not JSON",
        "openai:test: RateLimitError: slow down",
        "authorization failed; the api key is missing",
        "there is no store at sk-rag/store: make one with  skr ingest FILES --store sk-rag/store",
        "http://127.0.0.1:8000/v1 does not answer",
        "basic understanding of the bearer's token",
    ],
)
def test_what_is_no_key_stays(told: str) -> None:
    assert redact(told) == told


def test_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_API_KEY", "plain.words.of.mine")
    assert redact("wrong: plain.words.of.mine") == "wrong: [redacted]"


def test_a_placeholder_is_no_key() -> None:
    remember("none")
    assert redact("none of them") == "none of them"


def test_keys_of_a_frameworks_model() -> None:
    class Model(BaseModel):
        secret: SecretStr = SecretStr("secret.of.a.model")
        api_key: str = "plain.key.of.a.model"
        name: str = "ordinary.name"

    remember_keys(Model())
    told = redact("secret.of.a.model plain.key.of.a.model ordinary.name")
    assert told == "[redacted] [redacted] ordinary.name"


def test_every_error_of_ours() -> None:
    remember(HELD)
    told = f"no {HELD}"
    for error in (InputError(told), ModelError(told), DataError("a", 1, told)):
        assert HELD not in repr(error)


def test_another_librarys_error_and_its_causes() -> None:
    remember(HELD)

    class Refused(Exception):
        def __init__(self, message: str) -> None:
            super().__init__(message)
            self.body = {"error": {"message": message}}

    cause = OSError(f"sent {HELD}")
    with pytest.raises(ModelError) as caught, translated(ModelError, "mine"):
        raise Refused(f"refused {HELD}") from cause
    assert HELD not in "".join(traceback.format_exception(caught.value))
    assert HELD not in str(vars(caught.value))
    assert str(caught.value).startswith("mine: Refused: refused [redacted]")


def test_what_failed_may_quote_a_passage_and_steers_no_terminal_and_no_log():
    told = str(InputError("it said \x1b[31mred\x1b[0m\x00, \u202ehidden\ud800"))
    assert told == "it said [31mred[0m, hidden\ufffd"
