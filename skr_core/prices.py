"""What a run cost, from a table of prices that the user keeps.

Prices change and differ between contracts, so none ships with the package. The file is JSON::

    {"my-model": {"prompt": 1.0, "completion": 2.0}}

with the model's name as records give it, and US dollars for a million tokens each way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from skr_core.errors import DataError, InputError
from skr_core.files import read_whole
from skr_core.types import Usage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens.

    Attributes:
        prompt: For tokens sent.
        completion: For tokens received.
    """

    prompt: float
    completion: float


def cost(usage: Usage, price: Price) -> float:
    """USD = (prompt tokens x prompt price + completion tokens x completion price) / 1,000,000.

    Example:
        >>> cost(Usage(prompt_tokens=2_000_000, completion_tokens=500_000), Price(1.0, 4.0))
        4.0
    """
    sent = usage.prompt_tokens * price.prompt
    return (sent + usage.completion_tokens * price.completion) / MILLION


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
        {'small': Price(prompt=1.0, completion=2.0)}
    """
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
    for name in ("prompt", "completion"):
        amount = row.get(name) if isinstance(row, Mapping) else None
        if isinstance(amount, bool) or not isinstance(amount, int | float):
            raise DataError(path, None, f'model "{model}": the field "{name}" must be a number')
        if not math.isfinite(amount) or amount < 0:
            raise DataError(path, None, f'model "{model}": the field "{name}" must not be negative')
        amounts.append(float(amount))
    return Price(*amounts)
