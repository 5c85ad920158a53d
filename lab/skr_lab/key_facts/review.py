"""The review file of key-facts: plain text that a person edits, and what is frozen from it.

```text
## q1
Question: Where was the director of Jaws born?
Answer: Cincinnati
- Jaws was directed by Steven Spielberg.
- Steven Spielberg was born in Cincinnati.
> Look: facts 1 and 2 say much the same
> First, Jaws was directed by Steven Spielberg. ...
```

A fact is a line with a dash, with nothing to quote or escape: change its words, delete the line,
or add one. Lines with ``>`` are for the reviewer alone: what to look at, and the model's reasoning.
A question whose whole block is deleted is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from skr_core.errors import DataError
from skr_core.files import read_jsonl
from skr_core.questions import Question
from skr_core.texts import normalise
from skr_lab.key_facts.making import FEWEST, KEY_FACTS_VERSION, MOST, KeyFacts
from skr_learn.review import (
    REMARK,
    Block,
    block_text,
    on_one_line,
    read_blocks,
    refuse_all,
    repeated_ids,
    write_once,
)

MARKS = ("Question:", "Answer:", "-")

HEADER = f"""\
Key-facts to be reviewed (RaLLM §3): 2 to 4 a question. Ask of each:
  Is it necessary? Without it the answer cannot be reached.
  Is it independent? It says what none of the others says, and stands by itself, names in full.
  Is it right? The references say so, and together the facts lead to the answer.
Edit, delete or add lines with a dash; delete a whole block to leave its question out. Lines with >
are not read: "Look:" names what was found by words alone, which may be fine; below it stands the
model's reasoning. Then: skr-lab key-facts accept
The prompts that made them have the version {KEY_FACTS_VERSION}.
"""


def review_block(made: KeyFacts) -> str:
    """A question's block in the review file, in text that UTF-8 holds.

    Example:
        >>> print(review_block(KeyFacts("q1", "Who?", ("Ada",), ("It was Ada.",), "I think.")))
        ## q1
        Question: Who?
        Answer: Ada
        - It was Ada.
        > I think.
        <BLANKLINE>
    """
    lines = [
        ("Question:", made.question),
        *(("Answer:", each) for each in made.gold),
        *(("-", fact) for fact in made.facts),
        *((REMARK, f"Look: {each}") for each in made.remarks),
        *((REMARK, line) for line in made.reasoning.splitlines() if line.strip()),
    ]
    return block_text(made.id, lines)


def read_review(path: str | Path) -> list[KeyFacts]:
    """Read a review file as a person left it.

    Raises:
        InputError: There is no such file.
        DataError: Some lines are none of those above; the message names them.
    """
    return list(map(_key_facts, read_blocks(path, MARKS)))


def accept(path: str | Path) -> list[KeyFacts]:
    """Read a review file and check it: 2 to 4 facts a question, none empty, none twice.

    Raises:
        InputError: There is no such file.
        DataError: Something has to be put right; the message names all of it, with the lines.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "review.md")
        >>> made = KeyFacts("q1", "Who?", ("Ada",), ("It was Ada.", "She wrote it."))
        >>> size = path.write_text(review_block(made))
        >>> [each.facts for each in accept(path)]
        [('It was Ada.', 'She wrote it.')]
    """
    blocks = read_blocks(path, MARKS)
    accepted, problems = list(map(_key_facts, blocks)), repeated_ids(blocks)
    for each in accepted:
        count = len(each.facts)
        if not all(fact.strip(" .") for fact in each.facts):
            problems.append((each.line, f'question "{each.id}" has an empty key-fact'))
        if not FEWEST <= count <= MOST:
            problem = f'question "{each.id}" has {count} key-facts, not {FEWEST} to {MOST}'
            problems.append((each.line, problem))
        if len({normalise(fact) for fact in each.facts}) < count:
            problems.append((each.line, f'question "{each.id}" has a key-fact twice'))
    refuse_all(path, problems)
    if not accepted:
        problem = "there is no question in this file: skr-lab key-facts make writes one for review"
        raise DataError(path, None, problem)
    return accepted


def freeze(path: str | Path, accepted: Iterable[KeyFacts]) -> None:
    """Write accepted key-facts to a new file that is not written again.

    Raises:
        InputError: The file is there with other contents.
    """
    rows = (
        {"id": each.id, "question": each.question, "gold": each.gold, "key_facts": each.facts}
        for each in accepted
    )
    write_once(path, rows)


def with_key_facts(questions: Sequence[Question], path: str | Path) -> list[Question]:
    """The questions with their frozen key-facts, by id and text; those without stay as they are.

    Raises:
        InputError: There is no such file.
        DataError: It is no file of frozen key-facts, or holds none of these questions.
    """
    frozen: dict[tuple[str, str], tuple[str, ...]] = {}
    for number, row in read_jsonl(path):
        match row:
            case {"id": str(id_), "question": str(question), "key_facts": [*facts]} if all(
                isinstance(each, str) for each in facts
            ):
                frozen[id_, on_one_line(question)] = tuple(str(each) for each in facts)
            case _:
                raise DataError(path, number, 'frozen key-facts hold "id", "question", "key_facts"')
    keys = {(each.id, on_one_line(each.question)) for each in questions}
    if not keys & frozen.keys():
        raise DataError(path, None, "none of these key-facts belongs to any of the questions")
    return [
        replace(each, key_facts=frozen.get((each.id, on_one_line(each.question)), each.key_facts))
        for each in questions
    ]


def _key_facts(block: Block) -> KeyFacts:
    question = " ".join(block.all("Question:"))
    return KeyFacts(block.id, question, block.all("Answer:"), block.all("-"), line=block.line)
