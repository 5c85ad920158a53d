"""Review files: plain text that a person edits, and the questions that are accepted from one.

```text
## one_passage-3f2a9c11
Question: Who keeps the books of the harbour?
Answer: the harbour board
Type: one_passage
Known: no
Passage: The harbour
| The harbour of Arden is old. Its books are kept by the harbour board.
> Look: the answer does not stand in the passages, word for word
```

Nothing is quoted or escaped. Change any line, add an ``Answer:`` for each further right answer,
and delete a whole block to leave its question out. Lines with ``>`` are for the reviewer alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skr_core.errors import DataError, InputError
from skr_core.files import json_line, read_whole, replace_file
from skr_core.questions import UNANSWERABLE, Context, Question
from skr_core.texts import encodable, normalise

BEGINS, REMARK, QUOTED = "##", ">", "|"
"""What the first line of a block begins with, a remark, and a line that is kept as it is."""

HEADER = """\
Questions to be reviewed, made by a model of your own documents. Ask of each:
  Would somebody ask it who has not seen the passages? It names in full what it is about.
  Is the answer right, and all of it? Add a line "Answer:" for each other way to say it.
  Do the passages below it (the lines with |) really say so, or, where the Type is "unanswerable",
  does none of your documents?
Edit the lines; delete a whole block to leave its question out. A block of your own needs "##" and a
name, "Question:" and "Answer:". Lines with > are not read. "Known: yes" says that the model is
right without any passage. Then: skr questions accept
"""

Problem = tuple[int, str]
"""The number of a line, and what has to be put right there."""


@dataclass(frozen=True, slots=True)
class Block:
    """What stands under one ``##`` of a review file.

    Attributes:
        id: The text behind ``##``.
        line: The number of that line.
        lines: The lines below, each as its mark and what stands behind it; remarks are left out.
    """

    id: str
    line: int
    lines: tuple[tuple[str, str], ...] = ()

    def all(self, mark: str) -> tuple[str, ...]:
        """What stands behind a mark, on each line that begins with it."""
        return tuple(said for each, said in self.lines if each == mark)


def on_one_line(text: str) -> str:
    """A text without line breaks, so that it cannot begin another line of a review file."""
    return " ".join(text.split())


def block_text(id: str, lines: Iterable[tuple[str, str]]) -> str:
    r"""A block as it stands in a review file, in text that UTF-8 holds.

    Args:
        id: The text behind ``##``.
        lines: Marks, and what stands behind each; a quoted text takes a line for each of its own.

    Example:
        >>> block_text("q1", [("Question:", "Who\nis it?"), ("|", "one\n two")])
        '## q1\nQuestion: Who is it?\n| one\n|  two\n'
    """
    written = [f"{BEGINS} {on_one_line(id)}"]
    for mark, said in lines:
        if mark == QUOTED:
            text = said.replace("\r\n", "\n").replace("\r", "\n")
            written += [f"{QUOTED} {line}" for line in text.split("\n")]
        else:
            written.append(f"{mark} {on_one_line(said)}".rstrip())
    return encodable("\n".join(written) + "\n")


def read_blocks(path: str | Path, marks: Sequence[str]) -> list[Block]:
    """Read a review file as a person left it.

    Args:
        path: The file. What stands before its first block is not read.
        marks: What a line may begin with, beside ``##`` and ``>``.

    Raises:
        InputError: There is no such file.
        DataError: Lines begin with something else; the message names each of them.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        text = read_whole(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(path, None, f"this is not UTF-8 ({error})") from error
    blocks: list[Block] = []
    problems: list[Problem] = []
    allowed = ", ".join(f'"{each}"' for each in (BEGINS, *marks))
    for number, line in enumerate(text.split("\n"), start=1):
        said = line.strip()
        mark = next((each for each in marks if said.startswith(each)), None)
        if said.startswith(f"{BEGINS} "):
            blocks.append(Block(said[len(BEGINS) :].strip(), number))
        elif not blocks or not said or said.startswith(REMARK):
            continue
        elif mark is None:
            problems.append((number, f'a line begins with {allowed} or "{REMARK}"'))
        else:
            behind = line.rstrip("\r").partition(mark)[2]
            behind = behind.removeprefix(" ") if mark == QUOTED else behind.strip()
            blocks[-1] = replace(blocks[-1], lines=(*blocks[-1].lines, (mark, behind)))
    refuse_all(path, problems)
    return blocks


def repeated_ids(blocks: Iterable[Block]) -> list[Problem]:
    """The blocks whose id an earlier one has."""
    first: dict[str, int] = {}
    return [
        (each.line, f'"{each.id}" stands in the file twice, first in line {first[each.id]}')
        for each in blocks
        if first.setdefault(each.id, each.line) != each.line
    ]


def refuse_all(path: str | Path, problems: Sequence[Problem]) -> None:
    """Raise all that has to be put right as one error, in the order of the lines.

    Raises:
        DataError: There is something.
    """
    if len(problems) == 1:
        raise DataError(path, *problems[0])
    if problems:
        said = "; ".join(f"line {line}: {problem}" for line, problem in sorted(problems))
        raise DataError(path, None, f"{len(problems)} lines have to be put right: {said}")


def write_once(path: str | Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows to a new file of JSON Lines; one that holds something else is left as it is.

    Raises:
        InputError: The file is there with other contents.
    """
    path = Path(path)
    content = b"".join(map(json_line, rows))
    if path.exists() and path.read_bytes() != content:
        raise InputError(f"{path} holds something else, which is kept: give another --out")
    replace_file(path, content)


MARKS = ("Question:", "Answer:", "Type:", "Known:", "Passage:", QUOTED)
_KNOWN = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class ReviewedQuestion:
    """A question in a review file.

    Attributes:
        question: The question with its right answers and the passages that it was made of.
        known: Whether the model answers it without passages; None where nobody asked.
        remarks: Remarks for the reviewer; they are not read back.
        line: The number of the line where its block begins; 0 outside of a file.
    """

    question: Question
    known: bool | None = None
    remarks: tuple[str, ...] = ()
    line: int = 0


def question_block(made: ReviewedQuestion) -> str:
    """A question's block in the review file.

    Example:
        >>> who = Question("q1", "Who?", ("Ada",), contexts=(Context("Ada", "She is."),))
        >>> print(question_block(ReviewedQuestion(who, known=False)), end="")
        ## q1
        Question: Who?
        Answer: Ada
        Known: no
        Passage: Ada
        | She is.
    """
    asked = made.question
    lines = [("Question:", asked.question)]
    lines += [("Answer:", each) for each in asked.gold]
    lines += [("Type:", each) for each in asked.types]
    lines += [("Known:", said) for said, known in _KNOWN.items() if known is made.known]
    for each in asked.contexts:
        lines += [("Passage:", each.title), (QUOTED, each.text)]
    return block_text(asked.id, [*lines, *((REMARK, f"Look: {each}") for each in made.remarks)])


def read_review(path: str | Path) -> list[ReviewedQuestion]:
    """Read a review file of questions, as a person left it.

    Raises:
        InputError: There is no such file.
        DataError: Some lines are none of a review file.
    """
    return [_reviewed(each) for each in read_blocks(path, MARKS)]


def _reviewed(block: Block) -> ReviewedQuestion:
    types = block.all("Type:")
    passages: list[tuple[str, list[str]]] = []
    for mark, said in block.lines:
        if mark == "Passage:":
            passages.append((said, []))
        elif mark == QUOTED:
            passages = passages or [("", [])]
            passages[-1][1].append(said)
    supporting = UNANSWERABLE not in types
    contexts = [Context(title, "\n".join(each), supporting=supporting) for title, each in passages]
    titles = dict.fromkeys(each.title for each in contexts if each.title and supporting)
    question = Question(
        block.id,
        " ".join(block.all("Question:")),
        tuple(filter(None, block.all("Answer:"))),
        supporting_titles=tuple(titles),
        contexts=tuple(contexts),
        types=types,
    )
    known = next((_KNOWN.get(each.lower()) for each in block.all("Known:")), None)
    return ReviewedQuestion(question, known, line=block.line)


def accept_questions(path: str | Path, out: str | Path | None = None) -> list[Question]:
    """Read a review file of questions that a person has looked at, and check it.

    Args:
        path: The review file.
        out: The file of questions that is written, as `skr_core.read_questions` reads it; each
            line holds its passages, and as ``known`` whether the model needed them.

    Raises:
        InputError: There is no such file, or `out` holds something else.
        DataError: Something has to be put right; the message names all of it, with the lines.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "review.md")
        >>> made = ReviewedQuestion(Question("1", "Who?", ("Ada",)))
        >>> size = path.write_text(question_block(made))
        >>> [each.gold for each in accept_questions(path)]
        [('Ada',)]
    """
    blocks = read_blocks(path, MARKS)
    reviewed = [_reviewed(each) for each in blocks]
    problems, asked = repeated_ids(blocks), dict[str, int]()
    for each in reviewed:
        question = each.question
        if not question.question:
            problems.append((each.line, f'"{question.id}" has no question'))
        elif asked.setdefault(normalise(question.question), each.line) != each.line:
            first = asked[normalise(question.question)]
            problems.append((each.line, f"the question of line {first} is asked again"))
        if not question.is_scorable:
            problems.append((each.line, f'"{question.id}" has no answer, and no Type unanswerable'))
        elif UNANSWERABLE in question.types and not question.is_unanswerable:
            problems.append((each.line, f'"{question.id}" is unanswerable, and has an answer'))
    refuse_all(path, problems)
    if not reviewed:
        problem = "there is no question in this file: skr questions make writes one for review"
        raise DataError(path, None, problem)
    if out is not None:
        write_once(out, map(_row_of, reviewed))
    return [each.question for each in reviewed]


def _row_of(reviewed: ReviewedQuestion) -> dict[str, Any]:
    question = reviewed.question
    return {
        "id": question.id,
        "question": question.question,
        "answers": question.gold,
        "type": list(question.types),
        "supporting_titles": question.supporting_titles,
        "contexts": [
            {"title": each.title, "text": each.text, "is_supporting": each.supporting}
            for each in question.contexts
        ],
        "known": reviewed.known,
    }
