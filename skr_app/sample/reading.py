"""Reading the invented country of Varnland, which ships with the package.

| file | what it holds |
|---|---|
| ``corpus.jsonl`` | 117 passages about its towns, people, ships and offices, as of 2024 |
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
from typing import Literal, get_args

from skr_app.extractive import ExtractiveModel
from skr_core.files import read_jsonl
from skr_core.questions import Question, read_questions
from skr_core.types import Reference

Kind = Literal["known", "outdated", "unknown", "two hops", "unanswerable"]
"""What memory and corpus hold of a question's answer: memory has it, and the corpus often too;
memory has what was right once; one passage alone has it; two passages have it; nothing has it."""

KINDS: tuple[Kind, ...] = get_args(Kind)

FILES = ("corpus.jsonl", "memory.jsonl", "questions.jsonl")


@dataclass(frozen=True, slots=True)
class Sample:
    """The invented country.

    Attributes:
        corpus: The passages that are searched.
        memory: What the model believes by itself.
        questions: With their gold answers; `Question.types` holds the one `Kind`. The right answer
            to what nothing holds is to say so.
    """

    corpus: tuple[Reference, ...]
    memory: tuple[Reference, ...]
    questions: tuple[Question, ...]

    def model(self) -> ExtractiveModel:
        """A model without weights that believes the memory."""
        return ExtractiveModel(self.memory)


@cache
def load_sample() -> Sample:
    """Read the sample; it is the same for everybody who asks.

    Example:
        >>> sample = load_sample()
        >>> len(sample.corpus), len(sample.questions)
        (117, 200)
        >>> sample.questions[0].types[0] in KINDS
        True
    """
    with as_file(files("skr_app.sample") / "data") as folder:
        return Sample(
            tuple(_references(folder / "corpus.jsonl")),
            tuple(_references(folder / "memory.jsonl")),
            tuple(read_questions(folder / "questions.jsonl")),
        )


def write_sample(folder: Path) -> None:
    """Write the sample's files into a folder, for commands.

    Args:
        folder: Made if missing. Files of the same names in it are replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).write_bytes((files("skr_app.sample") / "data" / name).read_bytes())


def _references(path: Path) -> Iterator[Reference]:
    for _, row in read_jsonl(path):
        yield Reference.of(row["text"], row["title"])
