"""A question and its answer that a model was asked to write: lines with labels, or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

from skr_core.references.citations import without_markers
from skr_core.texts import normalise

_ASKED = "question|frage|pregunta|pergunta|domanda|vraag|вопрос|问题|問題|質問|질문|q".split("|")
_SAID = (
    "answer|antwort|respuesta|réponse|resposta|risposta|antwoord|ответ|答案|回答|答え|답변|답|a"
).split("|")
_LABEL = re.compile(
    rf"\W*(?:\d+\W+)?(?:the |right |correct )*(?:(?P<asked>{'|'.join(_ASKED)})|{'|'.join(_SAID)})"
    r"[\W\d]*?[:：](?P<said>.*)",
    re.IGNORECASE,
)
_SAME_LINE = re.compile(
    rf"(?<=[?？؟])[^\w\n]{{0,8}}(?=(?:{'|'.join(_SAID)})\W{{0,8}}[:：])", re.IGNORECASE
)
_QUOTES = {'"': '"', "“": "”", "«": "»", "「": "」", "'": "'"}


def read_question(reply: str) -> tuple[str, str] | None:
    """The last question of a reply and its answer, which may be empty; None where there is none.

    Lines with labels are read in several languages, bold, numbered or quoted, and so is JSON.

    Args:
        reply: The reply, without its thoughts.

    Example:
        >>> read_question("Let me see.\\n**Question:** Who was it?\\n**Answer:** Ada [1]")
        ('Who was it?', 'Ada')
        >>> read_question('```json\\n{"question": "Who was it?", "answer": "Ada"}\\n```')
        ('Who was it?', 'Ada')
        >>> read_question("NONE") is None
        True
    """
    pairs = [*_labelled(reply), *_in_json(reply)]
    cleaned = [(_bare(asked), _bare(said)) for asked, said in pairs]
    asked = [each for each in cleaned if each[0].strip(" .…") and normalise(each[0]) != "none"]
    whole = [each for each in asked if each[1].strip(" .…")]
    return next(reversed(whole or asked), None)


def _labelled(reply: str) -> list[tuple[str, str]]:
    pairs: list[list[str]] = []
    place = 0
    for line in _SAME_LINE.sub("\n", reply).splitlines():
        label = _LABEL.match(line)
        if label is not None:
            place = 0 if label["asked"] else 1
            if label["asked"]:
                pairs.append(["", ""])
            line = label["said"]
        if pairs and not pairs[-1][place]:  # the text may stand below its label
            pairs[-1][place] = line.strip(" *_`")
    return [(asked, said) for asked, said in pairs]


def _in_json(reply: str) -> Iterator[tuple[str, str]]:
    decoder = json.JSONDecoder(strict=False)
    for opening in islice(re.finditer(r"\{", reply), 50):
        try:
            given, _ = decoder.raw_decode(reply, opening.start())
        except (ValueError, RecursionError):
            continue
        fields = {key.lower(): str(value) for key, value in given.items()}
        asked, said = (
            next((fields[name] for name in names if name in fields), "")
            for names in (_ASKED, _SAID)
        )
        yield asked, said


def _bare(said: str) -> str:
    bare = without_markers(said).strip(" *_`").removesuffix(",")
    if len(bare) > 1 and _QUOTES.get(bare[0]) == bare[-1]:
        bare = bare[1:-1]
    return bare.strip(" *_`")
