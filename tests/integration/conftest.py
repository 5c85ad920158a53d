"""What carries awaited requests: aiohttp where it is installed, else httpx."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(params=["aiohttp", "httpx"])
def connections(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "httpx":
        monkeypatch.setitem(sys.modules, "httpx_aiohttp", None)
    return str(request.param)
