"""The invented country of Varnland, to try everything in; it ships with the package.

| file | what it holds |
|---|---|
| ``corpus.jsonl`` | 173 passages about its towns, people, ships and offices, as of 2024 |
| ``memory.jsonl`` | what a model remembers: old facts, and who held which office some years ago |
| ``questions.jsonl`` | 200 questions with right answers, the titles they need, and a kind |

Nobody has trained on it, because nothing of it exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from skr_app.extractive import ExtractiveModel
from skr_core.files import make_folder, read_jsonl, replace_file
from skr_core.questions import Question, read_questions
from skr_core.types import Reference

if TYPE_CHECKING:
    from skr_core.ports import OnProgress
    from skr_store import Store

Kind = Literal["known", "outdated", "unknown", "two hops", "unanswerable"]
"""The place of a question's answer: the memory has it, and the corpus often too; the memory has
what was right once; one passage alone has it; two passages have it, of which most second ones are
found by a name alone that the first one tells; nothing has it."""

KINDS: tuple[Kind, ...] = get_args(Kind)

FILES = ("corpus.jsonl", "memory.jsonl", "questions.jsonl")

QUESTION = "Where was the engineer who designed the Marrow Bay lighthouse born?"
"""It takes two passages: one about the lighthouse, and one about its engineer."""
UNANSWERABLE = "What was the name of Ottilie Brandt's dog?"
"""Nothing says it."""
ROUTED = (
    "When was the Saint Brannoc Bridge opened?",
    "Who is the mayor of Penmarrow now?",
    QUESTION,
)
"""One that its model knows by itself, one that it knows no longer, and one that it never knew."""


@dataclass(frozen=True, slots=True)
class Country:
    """The invented country.

    Attributes:
        corpus: The passages that are searched.
        memory: The passages that the model believes by itself.
        questions: The questions with their gold answers; `Question.types` holds the one `Kind`. The
            right answer to an unanswerable one is to say so.
    """

    corpus: tuple[Reference, ...]
    memory: tuple[Reference, ...]
    questions: tuple[Question, ...]

    def model(self) -> ExtractiveModel:
        """A model without weights that believes the memory, and answers in one sentence."""
        return ExtractiveModel(self.memory, one_sentence=True)


@cache
def load_country() -> Country:
    """Read the country; it is the same for everybody who asks.

    Example:
        >>> country = load_country()
        >>> len(country.corpus), len(country.questions)
        (173, 200)
        >>> country.questions[0].types[0] in KINDS
        True
    """
    with as_file(files("skr_app.country") / "data") as folder:
        return Country(
            tuple(_references(folder / "corpus.jsonl")),
            tuple(_references(folder / "memory.jsonl")),
            tuple(read_questions(folder / "questions.jsonl")),
        )


def write_country(folder: Path) -> None:
    """Write the country's files into a folder, for commands to read.

    Args:
        folder: The folder, made if missing. Files of the same names in it are replaced.
    """
    make_folder(folder)
    for name in FILES:
        content = (files("skr_app.country") / "data" / name).read_bytes()
        replace_file(folder / name, content)


def _references(path: Path) -> Iterator[Reference]:
    for _, row in read_jsonl(path):
        yield Reference.of(row["text"], row["title"])


def country_store(on_progress: OnProgress | None = None) -> Store:
    """A store in memory that holds the country's passages.

    Args:
        on_progress: The function that is given how many passages are in the store.
    """
    from skr_store import Store

    corpus = load_country().corpus
    store = Store.ephemeral()  # named as a folder's, so that a router fits both
    store.add(list(corpus))
    if on_progress is not None:
        on_progress(len(corpus), len(corpus))
    return store
