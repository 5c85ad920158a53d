"""A call of a language model: what is sent, what comes back, and what it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from skr_core.types.references import Reference

Task = Literal[
    "condense",
    "answer_directly",
    "answer_with_references",
    "answer_anyway",
    "self_complete",
    "decompose",
    "ask_certainty",
    "ask_need",
    "judge",
]
"""What a prompt asks for; usage is counted by it."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A worked example inside a prompt (SKR §3.1): question, passages where given, answer."""

    question: str
    answer: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent to a language model, with the parts it was rendered from.

    Attributes:
        task: What is asked for.
        text: The rendered text, sent as the last user message.
        question: The user's question.
        references: In the order in which the text numbers them, from 1.
        demonstrations: Worked examples rendered into the text.
        queries: What has been searched already, so that nothing is asked twice.
        history: Earlier turns, user and assistant in turn, beginning with the user.
        states_verdict: Whether the text asks for the verdict's line before the answer.
        system: What is said as the system, before all else; may be empty.
        sample: Which of several replies to the same words is wanted: what a cache tells them by.
    """

    task: Task
    text: str
    question: str
    references: tuple[Reference, ...] = ()
    demonstrations: tuple[Demonstration, ...] = ()
    queries: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    states_verdict: bool = False
    system: str = ""
    sample: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and calls spent; adds up.

    Replies from a cache cost nothing. They are counted apart, with the tokens that they took when
    they were made.

    Attributes:
        prompt_tokens: Tokens sent.
        completion_tokens: Tokens received.
        calls: Requests to a language model.
        estimated: True when any part was counted here, because the provider gave no figure.
        cached_calls: Requests that a cache answered.
        cached_prompt_tokens: Tokens that it saved sending.
        cached_completion_tokens: Tokens that it saved receiving.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    estimated: bool = False
    cached_calls: int = 0
    cached_prompt_tokens: int = 0
    cached_completion_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def uncached(self) -> Usage:
        """What it would have cost without a cache: what a system costs, whoever measures it.

        Example:
            >>> usage = Usage(30, 2, calls=1) + Usage(40, 3, calls=1).from_cache()
            >>> usage.uncached == Usage(70, 5, calls=2)
            True
        """
        return Usage(
            self.prompt_tokens + self.cached_prompt_tokens,
            self.completion_tokens + self.cached_completion_tokens,
            self.calls + self.cached_calls,
            self.estimated,
        )

    def from_cache(self) -> Usage:
        """The same where a cache gave all of it: nothing is spent.

        Example:
            >>> usage = Usage(40, 3, calls=1).from_cache()
            >>> usage.calls, usage.total_tokens, usage.cached_calls, usage.cached_prompt_tokens
            (0, 0, 1, 40)
        """
        whole = self.uncached
        return Usage(
            estimated=self.estimated,
            cached_calls=whole.calls,
            cached_prompt_tokens=whole.prompt_tokens,
            cached_completion_tokens=whole.completion_tokens,
        )

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            self.estimated or other.estimated,
            self.cached_calls + other.cached_calls,
            self.cached_prompt_tokens + other.cached_prompt_tokens,
            self.cached_completion_tokens + other.cached_completion_tokens,
        )


NO_USAGE = Usage()
_CUT_OFF = frozenset({"length", "max_tokens", "content_filter", "safety", "recitation"})
"""Finish reasons of OpenAI, Anthropic and Google, in lower case."""


@dataclass(frozen=True, slots=True)
class Generation:
    """A language model's reply.

    Attributes:
        text: The reply.
        usage: What it cost.
        logprobs: Natural-log probability of each token, where the provider returned them.
        finish_reason: Why the model ended, in the provider's word; empty where it did not say.
    """

    text: str
    usage: Usage = NO_USAGE
    logprobs: tuple[float, ...] | None = None
    finish_reason: str = ""

    @property
    def is_cut_off(self) -> bool:
        """Whether the reply ended before the model had: too long, or filtered.

        Example:
            >>> Generation("Paris is", finish_reason="length").is_cut_off
            True
        """
        return self.finish_reason.lower() in _CUT_OFF

    @property
    def mean_logprob(self) -> float | None:
        """Mean natural-log probability of the tokens; None where the provider gave none.

        Example:
            >>> Generation("Paris", logprobs=(-1.0, -2.0)).mean_logprob
            -1.5
        """
        mean = math.fsum(self.logprobs) / len(self.logprobs) if self.logprobs else math.nan
        return mean if math.isfinite(mean) else None
