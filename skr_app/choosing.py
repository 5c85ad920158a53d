"""Where no model is named: what there is to name on this machine, and how.

No model is taken that nobody named: one that a key pays for costs money, and the extractive model,
which needs none, does not answer as a language model does.
"""

from __future__ import annotations

import os
from http.client import HTTPConnection, HTTPException

import orjson

from skr_app.options import ModelOptions
from skr_core.errors import InputError

OLLAMA = "127.0.0.1:11434"
"""Where Ollama answers unless it is told otherwise."""
SECONDS = 0.5
"""Longest that it is waited for."""
MOST_NAMES = 4
HOW = (
    "Give --model openai:gpt-4.1-mini, with your key in OPENAI_API_KEY, or --model NAME --base-url "
    "URL for a server such as Ollama. To look around without one: --model extractive, which only "
    "quotes sentences."
)
LARGEST = 1_000_000


def check_model(options: ModelOptions) -> None:
    """Refuse a command that names no model, with what could be named here.

    Raises:
        InputError: No model is named.
    """
    if options.model:
        return
    if options.base_url:
        raise InputError(f"name the model that {options.base_url} is asked for: give --model NAME")
    found = []
    if os.environ.get("OPENAI_API_KEY"):
        found.append("OPENAI_API_KEY is set: give --model openai:gpt-4.1-mini.")
    if names := ollama_models():
        others = f" (it also has {', '.join(names[1:MOST_NAMES])})" if names[1:] else ""
        given = f"--model {names[0]} --base-url http://{OLLAMA}/v1"
        found.append(f"Ollama is running: give {given}{others}.")
    raise InputError(f"no model is named. {' '.join(found) or HOW}")


def ollama_models(address: str = OLLAMA) -> list[str]:
    """The names of the models that Ollama has on this machine; none where it does not answer.

    Args:
        address: The host and the port that are asked.
    """
    connection = HTTPConnection(address, timeout=SECONDS)
    try:
        connection.request("GET", "/api/tags")
        found = orjson.loads(connection.getresponse().read(LARGEST))
        return [str(each["name"]) for each in found["models"]]
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return []  # something else listens there, or nothing
    finally:
        connection.close()
