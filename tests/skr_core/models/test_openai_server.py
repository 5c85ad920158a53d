from __future__ import annotations

import pytest

from skr_core.models.openai_server import PLACEHOLDER_KEY, server_address, server_key

SERVER = "http://localhost:8000/v1"


def test_what_is_given_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    assert (server_address(), server_key(None, None)) == (None, None)
    assert server_key(None, SERVER) == PLACEHOLDER_KEY
    monkeypatch.setenv("OPENAI_API_BASE", "http://older/v1")
    assert server_address() == "http://older/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://newer/v1")
    assert server_address() == "http://newer/v1"
    assert server_address(SERVER) == SERVER
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    assert (server_key(None, SERVER), server_key("mine", SERVER)) == ("theirs", "mine")
