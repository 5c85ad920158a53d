"""What one question may cost, what was spent, and what that comes to in money.

The loop ends because its state says so. A framework's recursion limit protects nobody: it is in
the thousands by default, and servers override it.

Where a provider counts no tokens they are counted here. tiktoken downloads its encodings: where it
is installed and its data is at hand (a filled cache folder, or the copy that ships inside
llama-index-core) the count is exact for OpenAI's models; elsewhere it is an estimate and marked as
one. Nothing fails for want of a download.

Prices change and differ between contracts, so none ships with the package. A table of prices is a
file of JSON::

    {"my-model": {"prompt": 1.0, "completion": 2.0, "cache_read": 0.25}}

with the model's name as records give it, and US dollars for a million tokens each way. The price of
tokens that the provider reads from its cache, ``cache_read``, may be left out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from skr_core._compat import folder_of_encodings
from skr_core.errors import DataError, InputError
from skr_core.texts import encodable
from skr_core.types import Prompt, StopReason, Usage

MAX_REFERENCES = 10
"""RaLLM caps the references handed to the model at ten (§6.4)."""

CALLS_A_ROUND = 2
"""Asking for queries and answering again; with fewer calls left, a round cannot bear fruit."""

MAX_HISTORY_TOKENS = 2_000
"""Some five exchanges; what a question points back at is hardly further away."""

_LIMITS = (
    *("max_rounds", "max_references", "max_calls", "max_tokens", "max_reference_tokens"),
    *("max_history_tokens", "max_reply_tokens"),
)

SHORT_REPLY = 4_096
"""Tokens of a reply that every model may be asked for; larger figures some refuse."""

MILLION = 1_000_000

ENCODING = "o200k_base"
# English prose in o200k_base: 4 to 4.5 characters a token; 4 errs on the side of counting more.
CHARACTERS_PER_TOKEN = 4
# A long run without spaces takes the tokeniser quadratic time: a hostile megabyte, minutes.
LONGEST_COUNTED = 100_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens.

    Attributes:
        prompt: The price of tokens sent.
        completion: The price of tokens received.
        cache_read: The price of tokens sent that the provider reads from its own cache; None where
            it is that of `prompt`.

    Raises:
        InputError: One of them is no number from 0.

    Example:
        >>> Price(prompt=-0.4, completion=1.6)
        Traceback (most recent call last):
        ...
        skr_core.errors.InputError: prompt must be a price from 0 US dollars, not -0.4
    """

    prompt: float
    completion: float
    cache_read: float | None = None

    def __post_init__(self) -> None:
        for name in ("prompt", "completion", "cache_read"):
            amount = getattr(self, name)
            is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
            if not (
                (is_number and 0 <= amount < math.inf) or (amount is None and name == "cache_read")
            ):
                raise InputError(f"{name} must be a price from 0 US dollars, not {amount!r}")


def cost(usage: Usage, price: Price) -> float:
    """USD = (prompt tokens x prompt price + completion tokens x completion price) / 1,000,000.

    Of the prompt tokens, those that the provider read from its cache are at their own price.

    Example:
        >>> cost(Usage(prompt_tokens=2_000_000, completion_tokens=500_000), Price(1.0, 4.0))
        4.0
        >>> read = Usage(prompt_tokens=2_000_000, cache_read_tokens=1_000_000)
        >>> cost(read, Price(1.0, 4.0, cache_read=0.25))
        1.25
    """
    sent = usage.prompt_tokens * price.prompt
    if price.cache_read is not None:
        sent += usage.cache_read_tokens * (price.cache_read - price.prompt)
    return (sent + usage.completion_tokens * price.completion) / MILLION


@dataclass(frozen=True, slots=True)
class Budget:
    """What one question may cost.

    Attributes:
        max_rounds: Rounds of retrieval, the first included; 1 is single shot.
        max_references: References handed to the model at a time.
        max_calls: Calls of the language model, routing and reflection included. The limit is
            checked between steps: the calls of a step that has begun are all made, so a router or
            reflector that makes several may go beyond it. None: no limit.
        max_tokens: Tokens sent and received. No call starts once they are spent; the call that
            crosses the line is finished. None: no limit.
        max_reference_tokens: Tokens of the references that are handed to the model at a time, with
            their titles and fences. They are packed by rank: the first that does not fit is cut at
            a sentence, and those below it are left out. Where several rounds have found some,
            this holds for each round; see `skr_core.references.pack_references`. None: what
            the model's context window is known to hold, or 96,000 where it is not known.
        max_history_tokens: Tokens of the conversation's turns that the model is shown: the latest
            that fit. They count towards `max_tokens` as all that is sent does.
        deadline_s: Seconds of wall clock since the question was asked. No call starts after them,
            and one that is under way is given up: the best draft so far is served, or where there
            is none `DeadlineError` is raised. Time in which a run stands still, as between a crash
            and its resumption, counts. A person's review does not: the clock starts anew after it.
            None: no limit, but a reply of which nothing comes for 300 seconds is given up.
        max_reply_tokens: Tokens of one reply, sent with each request as ``max_tokens`` where the
            framework's model has that setting. None: what is left of `max_tokens` once that is less
            than 4,096, else the model's own.
        max_spend: US dollars, by `price`. As with `max_tokens` the call that crosses the line is
            finished. None: no limit.
        price: The price of the model's tokens, see `read_prices`.

    Raises:
        InputError: A limit is no whole number from 1, a deadline or an amount of money not above 0,
            or money is limited without a price.

    Example:
        >>> Budget(max_calls=2).reached(Usage(calls=1), rounds=1, seconds=0.5)
        'max_calls'
    """

    max_rounds: int = 3
    max_references: int = MAX_REFERENCES
    max_calls: int | None = None
    max_tokens: int | None = None
    deadline_s: float | None = None
    max_reference_tokens: int | None = None
    max_history_tokens: int = MAX_HISTORY_TOKENS
    max_reply_tokens: int | None = None
    max_spend: float | None = None
    price: Price | None = None

    def __post_init__(self) -> None:
        for name in _LIMITS:
            limit = getattr(self, name)
            if limit is None:
                continue
            if not isinstance(limit, int) or isinstance(limit, bool):
                raise InputError(f"{name} must be a whole number, not {limit!r}")
            if limit < 1:
                raise InputError(f"{name} must be at least 1, not {limit}")
        for name, unit in (("deadline_s", "seconds"), ("max_spend", "US dollars")):
            amount = getattr(self, name)
            is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
            # Nothing is above "not a number".
            if amount is not None and not (is_number and amount > 0):
                raise InputError(f"{name} must be above 0 {unit}, not {amount!r}")
        price: object = self.price
        if price is not None and not isinstance(price, Price):
            given = type(price).__name__
            raise InputError(f"price must be Price(prompt=..., completion=...), not {given}")
        if self.max_spend is not None and self.price is None:
            raise InputError(
                "max_spend needs the price of the model's tokens: give price=Price(...)"
            )

    def spent(self, usage: Usage, *, seconds: float) -> StopReason | None:
        """Return the limit that forbids another model call, or None."""
        if self.max_calls is not None and usage.calls >= self.max_calls:
            return "max_calls"
        if self.max_tokens is not None and usage.total_tokens >= self.max_tokens:
            return "max_tokens"
        if self.max_spend is not None and self._cost(usage) >= self.max_spend:
            return "max_spend"
        if self.deadline_s is not None and seconds >= self.deadline_s:
            return "deadline"
        return None

    def _cost(self, usage: Usage) -> float:
        return 0.0 if self.price is None else cost(usage, self.price)

    def reply_tokens(self, usage: Usage) -> int | None:
        """Return the tokens that the next reply may have; None leaves it to the model.

        Example:
            >>> Budget(max_tokens=1_000).reply_tokens(Usage(700, 100))
            200
        """
        left = math.inf if self.max_tokens is None else self.max_tokens - usage.total_tokens
        given = self.max_reply_tokens or math.inf
        short = left if left <= SHORT_REPLY else math.inf
        least = min(given, short)
        return None if least == math.inf else max(1, int(least))

    def reached(
        self, usage: Usage, *, rounds: int, seconds: float, max_rounds: int | None = None
    ) -> StopReason | None:
        """Return the limit that forbids another round, or None.

        Args:
            usage: The usage so far.
            rounds: The rounds made so far.
            seconds: The seconds since the start.
            max_rounds: A tighter limit of rounds, as a decision may carry.
        """
        allowed = self.max_rounds if max_rounds is None else min(max_rounds, self.max_rounds)
        if rounds >= allowed:
            return "max_rounds"
        if self.max_calls is not None and usage.calls + CALLS_A_ROUND > self.max_calls:
            return "max_calls"
        return self.spent(usage, seconds=seconds)


def read_prices(path: str | Path) -> dict[str, Price]:
    """Read a table of prices.

    Raises:
        InputError: There is no such file.
        DataError: It is not such a table; the message names the model and the field.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "prices.json")
        >>> size = path.write_text('{"small": {"prompt": 1, "completion": 2}}')
        >>> read_prices(path)
        {'small': Price(prompt=1.0, completion=2.0, cache_read=None)}
    """
    from skr_core.files import read_whole  # no other budget reads files

    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        table = orjson.loads(read_whole(path))
    except orjson.JSONDecodeError as error:
        raise DataError(path, None, f"this is not JSON ({error})") from error
    if not isinstance(table, Mapping):
        raise DataError(path, None, "a table of prices is an object: model to prices")
    return {str(model): _price(path, str(model), row) for model, row in table.items()}


def price_of(prices: Mapping[str, Price], model: str) -> Price:
    """The price of a model, by its name or the part behind its provider.

    Raises:
        InputError: The table does not have it.

    Example:
        >>> price_of({"small": Price(1.0, 2.0)}, "openai:small").completion
        2.0
    """
    found = prices.get(model) or prices.get(model.partition(":")[2])
    if found is None:
        raise InputError(
            f"the prices have no model {model!r}; they have {', '.join(prices) or 'none'}"
        )
    return found


def _price(path: Path, model: str, row: Any) -> Price:
    amounts = []
    for name in ("prompt", "completion", "cache_read"):
        amount = row.get(name) if isinstance(row, Mapping) else None
        if name == "cache_read" and amount is None:
            continue
        if isinstance(amount, bool) or not isinstance(amount, int | float):
            raise DataError(path, None, f'model "{model}": the field "{name}" must be a number')
        if not math.isfinite(amount) or amount < 0:
            raise DataError(path, None, f'model "{model}": the field "{name}" must not be negative')
        amounts.append(float(amount))
    return Price(*amounts)


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens, and whether it was estimated from the length of the text."""

    tokens: int
    estimated: bool


def count_tokens(text: str) -> TokenCount:
    """Count the tokens of a text, or estimate them where tiktoken's data is not at hand.

    Example:
        >>> count_tokens("").tokens
        0
    """
    encode = _encoder()
    if encode is None or len(text) > LONGEST_COUNTED:
        return tokens_by_length(text)
    return TokenCount(encode(text), estimated=False)


def tokens_by_length(text: str) -> TokenCount:
    """Estimate the tokens of a text without tiktoken, whose data takes a quarter second to load.

    Example:
        >>> tokens_by_length("It is a tower in Paris.")
        TokenCount(tokens=6, estimated=True)
    """
    return TokenCount(-(-len(text) // CHARACTERS_PER_TOKEN), estimated=True)


def estimate_usage(
    prompt: Prompt, reply: str, count: Callable[[str], TokenCount] = count_tokens
) -> Usage:
    """Usage of one call whose provider gave no figures; always marked as an estimate."""
    sent = sum(count(turn).tokens for turn in (prompt.system, *prompt.history, prompt.text))
    return Usage(sent, count(reply).tokens, calls=1, estimated=True)


MAX_COUNT = 100_000_000
"""Tokens of a call: more than any model takes or makes."""


def is_count(given: object, most: int = MAX_COUNT) -> bool:
    """Whether this is a number of tokens that one call may have.

    Example:
        >>> is_count(7), is_count(-7), is_count("7"), is_count(True), is_count(7, most=6)
        (True, False, False, False, False)
    """
    return type(given) is int and 0 <= given <= most


def believed(usage: Usage, prompt: Prompt, reply: str) -> Usage:
    """The usage of a call as its provider gives it; an estimate where it cannot be.

    What a server says is untrusted: a negative count would let what is spent fall, and a text ends
    whoever adds it up.

    Args:
        usage: The usage, of whatever values.
        prompt: The prompt of the call.
        reply: Its reply.

    Example:
        >>> asked = Prompt("answer_directly", "Where?", "Where?")
        >>> believed(Usage(-100, 5, calls=1), asked, "In Paris.").estimated
        True
    """
    counts = [getattr(usage, each.name, None) for each in fields(Usage) if each.type == "int"]
    if (
        all(map(is_count, counts))
        and usage.cache_read_tokens <= usage.prompt_tokens
        and usage.cached_cache_read_tokens <= usage.cached_prompt_tokens
    ):
        return usage
    return estimate_usage(prompt, reply)


@cache
def _encoder() -> Callable[[str], int] | None:
    folder = folder_of_encodings()
    if folder is None:
        return None
    with suppress(ImportError, OSError, ValueError):
        import tiktoken

        before = os.environ.get("TIKTOKEN_CACHE_DIR")
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
        try:
            encoding = tiktoken.get_encoding(ENCODING)
        finally:
            if before is None:
                del os.environ["TIKTOKEN_CACHE_DIR"]
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = before
        return lambda text: len(
            # A lone surrogate cannot be encoded; it counts as the replacement character.
            encoding.encode_ordinary(encodable(text))
        )
    return None
