"""The conversation before a question: its turns for a model, and the question without them.

Turns are untrusted, as every text is. The sources of an earlier answer are not among the references
of this question, so its markers are taken out. A question that leans on its conversation, see
`skr_core.leaning`, is rewritten by the model; where that fails, it stays as it is.

Example:
    >>> from skr_core.flow import run
    >>> from skr_core.testing import ScriptedModel
    >>> said = [("user", "Capital of France?"), ("assistant", "Paris [1].")]
    >>> turns = latest_turns(said, 100)
    >>> turns
    ('Capital of France?', 'Paris.')
    >>> model = ScriptedModel(["Standalone question: Which river flows through Paris?"])
    >>> run(condense(model, "And its river?", turns)).question
    'Which river flows through Paris?'
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from skr_core.answering import generate
from skr_core.budget import Budget
from skr_core.errors import ModelError
from skr_core.flow import Flow
from skr_core.ports import LanguageModel
from skr_core.prompts import DEFAULT_TEMPLATES, PromptTemplates, asking
from skr_core.references import fast_tokens, strip_markers
from skr_core.replies import is_refusal, strip_thoughts, unfenced, without_bullet
from skr_core.replies.queries import AllowQuery, is_allowed
from skr_core.texts import encodable, straight_quotes, words
from skr_core.types import NO_USAGE, Usage

Utterance = tuple[Literal["user", "assistant"], str]
"""A message of the conversation: its role and its text."""

_CUT = " …"


def latest_turns(messages: Iterable[Utterance], max_tokens: int) -> tuple[str, ...]:
    """The latest turns that fit, beginning with the user; user and assistant take turns.

    Messages of the same role in a row are one turn. A question and its answer are kept together. If
    even the latest pair does not fit, both are shortened. Where the user spoke last, the number of
    turns is odd.

    Args:
        messages: The conversation, the earliest message first.
        max_tokens: The most tokens of all turns together.
    """
    merged = _alternating(messages)
    kept: list[str] = []
    left = max_tokens
    end = len(merged)
    while end:
        start = end - 1 if end % 2 else end - 2
        exchange = [_shown(turn, start + place) for place, turn in enumerate(merged[start:end])]
        spent = sum(map(fast_tokens, exchange))
        if spent > left:
            if not kept:
                kept = _cut(exchange, left)
            break
        kept = [*exchange, *kept]
        left -= spent
        end = start
    return tuple(kept)


def exchanges(turns: Sequence[str]) -> tuple[str, ...]:
    """The complete pairs of question and answer; a last question without an answer is left off.

    Example:
        >>> exchanges(["Where?", "There.", "I am in Paris."])
        ('Where?', 'There.')
    """
    return tuple(turns[: len(turns) // 2 * 2])


def _alternating(messages: Iterable[Utterance]) -> list[str]:
    turns: list[str] = []
    for role, text in messages:
        if not text.strip():
            continue
        begins = (role == "user") == (len(turns) % 2 == 0)
        if begins:
            turns.append(text)
        elif turns:  # a greeting before the first question is of no turn
            turns[-1] = f"{turns[-1]}\n\n{text}"
    return turns


def _shown(text: str, place: int) -> str:
    text = encodable(text.strip())
    if place % 2 == 0:
        return text
    return strip_markers(strip_thoughts(text)) or _CUT.strip()


def _cut(exchange: Sequence[str], max_tokens: int) -> list[str]:
    """The beginning of each turn within the limit, half of which is the user's."""
    shortened: list[str] = []
    for place, text in enumerate(exchange):
        limit = max_tokens // 2 if place + 1 < len(exchange) else max_tokens
        tokens = fast_tokens(text)
        if tokens > limit:
            text = text[: len(text) * limit // tokens].rstrip() + _CUT
        shortened.append(text)
        max_tokens = max(1, max_tokens - min(tokens, limit))
    return shortened


@dataclass(frozen=True, slots=True)
class CondensedQuestion:
    """A question without its conversation.

    Attributes:
        question: The question, as it can be routed and searched.
        usage: The usage of asking for it.
        error: The reason why the question was left as it is, where that was not the model's choice;
            else empty.
    """

    question: str
    usage: Usage = NO_USAGE
    error: str = ""


def needs_condensing(question: str, turns: Sequence[str], budget: Budget) -> bool:
    """Whether a question is worth a call that rewrites it: it leans on turns that there are.

    A budget that such a call would use up is kept for the answer.

    Example:
        >>> needs_condensing("And its river?", ["Capital of France?", "Paris."], Budget())
        True
        >>> needs_condensing("And its river?", [], Budget())
        False
    """
    if not turns:
        return False
    from skr_core.leaning import leans_on_history  # most questions have no turns before them

    if not leans_on_history(question):
        return False
    # The answer is shown the turns as well.
    shown = 2 * sum(map(fast_tokens, turns))
    return not budget.spent(Usage(shown, calls=1), seconds=0.0)


def condense(
    model: LanguageModel,
    question: str,
    turns: Sequence[str],
    *,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
    allow_query: AllowQuery | None = None,
) -> Flow[CondensedQuestion]:
    """Ask for the question as it would be asked without the turns before it; one call.

    Args:
        model: The model that rewrites it. Where it fails, or its reply holds no such question, the
            question stays as it is.
        question: The question, as the user asked it.
        turns: The turns before it, user and assistant in turn.
        templates: The words to ask in.
        allow_query: The rule of which queries may be searched; a question that it refuses is left
            as the user asked it.
    """
    prompt = asking.condense(question, turns, templates=templates)
    try:
        generation = yield from generate(model, prompt)
    except ModelError as failure:
        return CondensedQuestion(question, error=f"the question was not condensed: {failure}")
    said = "" if generation.is_cut_off else read_condensed(generation.text, question, turns)
    if not said:
        error = "the question was not condensed: the model's reply holds no question of its kind"
        return CondensedQuestion(question, generation.usage, error)
    if not is_allowed(allow_query, said, question):
        error = "the question was not condensed: allow_query refused what it became"
        return CondensedQuestion(question, generation.usage, error)
    return CondensedQuestion(said, generation.usage)


LONGEST_QUESTION = 300
"""Characters of a rewritten question, which may also be twice as long as the original."""

MOST_LINES = 40
"""Lines of a reply that are looked at, from the end."""

LONGEST_SMALL_WORD = 3
"""Letters of a word that may be of grammar alone."""

_WRAPPING = " \t\"'“”„‘’`<>*_[]「」『』«»#"
_KIND = (
    r"(?:stand-?\s?alone|rewritten|rephrased|reformulated|condensed|revised|self-contained|final"
    r"|search|eigenständige|umformulierte|autonome|reformulée|independiente|reformulada)"
)
# "Standalone question:", "So the rewritten question would be:".
_LABEL = re.compile(
    rf"(?:\b{_KIND}[ -]?)?(?<!\w)(?:question|query|version|frage|pregunta)"
    rf"(?: {_KIND})?(?: (?:is|would be|ist|lautet|est|es|sería))?[*_\"' ]{{0,4}}[:：][*_ \t]*"
    r"|(?:独立|獨立|改写|改寫|重写|重寫|书き直|書き直)[^\n:：]{0,12}[:：][*_ \t]*"
    r"|(?:質問|问题|問題)[:：][*_ \t]*",
    re.IGNORECASE,
)
_NAMED = re.compile(r"question|query|stand|rewrit|condens", re.IGNORECASE)
_ASKS = ("?", "？")
_STATES = (".", "!", "。", "！")
_REMARK = re.compile(
    r"(?:sure|certainly|of course|okay|ok|here (?:is|are)|hier ist|voici|aquí|explanation|note"
    r"|the (?:user|question|word|pronoun|conversation)|since|because|i (?:have|replaced|rewrote)"
    r"|let me|first|this |user|assistant)\b.*|.*[:：]",
    re.IGNORECASE,
)


def read_condensed(text: str, question: str, turns: Sequence[str]) -> str:
    """The rewritten question of a reply, on one line; empty where the reply holds none.

    Models reason before it, label it, wrap it up and explain it. An answer or a refusal is not
    taken for a question.

    Args:
        text: The reply.
        question: The question that was to be rewritten.
        turns: The turns of the conversation: a rewritten question shares a word with them or with
            the question.

    Example:
        >>> said = 'Sure! **Standalone question:** "How old is Paris?"'
        >>> read_condensed(said, "How old?", ["Capital of France?", "Paris."])
        'How old is Paris?'
        >>> read_condensed("Paris is about 2,000 years old.", "How old?", ["Paris?", "Yes."])
        ''
    """
    said = unfenced(text.strip()).strip()
    asked = bool(question.rstrip().endswith(_ASKS))
    for line in _candidates(said):
        found = " ".join(without_bullet(line.strip(_WRAPPING)).strip(_WRAPPING).split())
        if _is_usable(found, question, turns, asked=asked):
            return found
    return ""


def _candidates(said: str) -> list[str]:
    """The lines that may be the question, the likeliest first."""
    if (value := _json_value(said)) is not None:
        return [value]
    lines = [line.strip() for line in said.splitlines() if line.strip()][-MOST_LINES:]
    labelled: list[str] = []
    for place, line in enumerate(lines):
        if label := list(_LABEL.finditer(line[: 4 * LONGEST_QUESTION])):
            behind = line[label[-1].end() :].strip(_WRAPPING)
            labelled.append(behind or (lines[place + 1] if place + 1 < len(lines) else ""))
    plain = [line for line in lines if not _REMARK.fullmatch(straight_quotes(line.strip("*_ ")))]
    asking = [line for line in plain if line.rstrip(_WRAPPING).endswith(_ASKS)]
    # Who thinks aloud comes to the question at the end.
    return [*reversed(labelled), *reversed(asking), *(plain if len(plain) == 1 else ())]


def _json_value(said: str) -> str | None:
    start, end = said.find("{"), said.rfind("}")
    if start != 0 or end < start:
        return None
    try:
        read = json.loads(said[: end + 1])
    except (ValueError, RecursionError):
        return None
    texts = {key: value for key, value in read.items() if isinstance(value, str)}
    named = [value for key, value in texts.items() if _NAMED.search(key)]
    return next(iter([*named, *reversed(texts.values())]), None)


def _is_usable(found: str, question: str, turns: Sequence[str], *, asked: bool) -> bool:
    asks = found.endswith(_ASKS)
    if not 0 < len(found) <= max(LONGEST_QUESTION, 2 * len(question)):
        return False
    if not asks and (is_refusal(found) or (asked and found.endswith(_STATES))):
        return False
    said = {word for text in (question, *turns) for word in words(text)}
    kept = set(words(found))
    # Short words are of grammar, and any two sentences share some.
    long = {word for word in kept if len(word) > LONGEST_SMALL_WORD or not word.isascii()}
    return not said.isdisjoint(long or kept)
