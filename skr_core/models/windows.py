"""The context windows of models: what they declare, and of well-known ones what their names tell.

A framework's model says itself how much it takes, as `Window`; that comes first. By name a window
is the smallest that a model is known to have: a server may offer more by its own settings. Of
others none is known, and `tokens_for` allows a careful default; a deployment's own name says
nothing.

Example:
    >>> context_window("openai/gpt-4o-mini"), context_window("my-own-model")
    (128000, None)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from skr_core.budget import Budget
from skr_core.ports import LanguageModel

# The first that fits the beginning of a name, or of what stands behind a provider's, counts.
_WINDOWS = {
    r"gpt-5(?:\.\d)?-chat": 128_000,
    r"gpt-5": 272_000,  # of 400,000, as the rest is for the answer
    r"gpt-4\.1": 1_047_576,
    r"gpt-4o|chatgpt-4o|gpt-4\.5|gpt-4-(?:turbo|1106|0125|vision)": 128_000,
    r"gpt-4-32k": 32_768,
    r"gpt-4(?![.\w])": 8_192,
    r"gpt-3\.?5-turbo-(?:instruct|0301|0613)": 4_096,
    r"gpt-3\.?5-turbo": 16_385,
    r"gpt-oss": 131_072,
    r"o1-(?:mini|preview)": 128_000,
    r"o[134](?![\w.])": 200_000,
    r"claude-(?:instant|2(?!\.1))": 100_000,
    r"claude": 200_000,
    r"gemini-(?:1\.0|pro)": 30_720,
    r"gemini-[\w.-]*(?:image|tts|live|audio)": 32_768,
    r"gemini-(?:1\.5|2\.\d)": 1_048_576,
    r"llama-?v?3[.p-][1-3](?![0-9b])": 131_072,
    r"llama-?v?3(?![.\w])|meta-llama-3(?![.\w])": 8_192,
    r"llama-?v?2(?![.\w])": 4_096,
    r"qwen-?(?:1\.5|2|2\.5|3)(?![\d.])|qwq": 32_768,
    r"(?:open-)?mistral-(?:large|nemo)": 128_000,
    r"mistral-7b(?:-instruct)?-v0\.1": 8_192,
    r"(?:open-)?mixtral-8x22b": 65_536,
    r"(?:open-)?mi[sx]tral": 32_768,
    r"deepseek-(?:chat|reasoner|v3|r1(?!-distill))": 65_536,
    r"gemma-?2": 8_192,
    r"gemma-?3(?:n|[:-](?:1b|270m))": 32_768,
    r"gemma-?3": 131_072,
    r"phi-?4(?!-mini)": 16_384,
    r"command-r": 128_000,
}

ROOM_FOR_ANSWER = 0.25
"""The share of a window for the answer, the question and the words around the references; also
because models count tokens by vocabularies of their own."""

UNKNOWN_MODEL = 96_000
"""The tokens of references where the context window is not known: three quarters of 128,000."""


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens that a model declares to take, as the attribute ``window`` of a `LanguageModel`.

    Attributes:
        tokens: The tokens of a prompt, with its reply where both share them.
        reply: The tokens that are kept for the reply.
    """

    tokens: int
    reply: int = 0


@cache
def context_window(model_name: str) -> int | None:
    """Return the tokens that a model takes in one prompt, with its answer where both share them.

    Args:
        model_name: The model's name on its server, with or without the provider's before it.

    Returns:
        None where it is not known.
    """
    name = model_name.lower()
    for names, window in _WINDOWS.items():
        if re.search(rf"(?:^|[/.:@]|meta-)(?:{names})", name):
            return window
    return None


def reference_tokens_for(model_name: str) -> int | None:
    """Return the tokens of references that a prompt may hold, with room for everything else.

    Returns:
        None where the model's window is not known.

    Example:
        >>> reference_tokens_for("gpt-4"), reference_tokens_for("extractive")
        (6144, None)
    """
    window = context_window(model_name)
    return None if window is None else int(window * (1 - ROOM_FOR_ANSWER))


def window_of(model: object) -> Window | None:
    """Return what a model declares to take; None where it declares nothing.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> window_of(ScriptedModel()) is None
        True
    """
    window = getattr(model, "window", None)
    return window if isinstance(window, Window) else None


def tokens_for(budget: Budget, model: LanguageModel, beside: Iterable[str] = ()) -> int:
    """Return the tokens of references that a model is handed within a budget.

    Args:
        budget: The budget, whose `max_reference_tokens` may ask for fewer, or for more than is
            known of a name, but not for more than the model declares.
        model: The model.
        beside: All other texts of the prompt, which take room where the model declares its own.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> tokens_for(Budget(max_reference_tokens=500), ScriptedModel())
        500
    """
    declared = window_of(model)
    if declared is None:
        return budget.max_reference_tokens or reference_tokens_for(model.name) or UNKNOWN_MODEL
    others = sum(map(most_tokens, beside))
    left = min(int(declared.tokens * (1 - ROOM_FOR_ANSWER)), declared.tokens - declared.reply)
    return max(0, min(left - others, budget.max_reference_tokens or left))


def history_tokens_for(budget: Budget, model: LanguageModel | None) -> int:
    """Return the tokens of earlier turns that a prompt holds: at most a quarter of the window."""
    declared = window_of(model)
    if declared is None:
        return budget.max_history_tokens
    return min(budget.max_history_tokens, declared.tokens // 4)


def most_tokens(text: str) -> int:
    """About as many tokens as a text may have; nobody waits for an exact count.

    Example:
        >>> most_tokens("The lamp burns colza oil.")
        8
    """
    return len(text.encode(errors="replace")) // 3
