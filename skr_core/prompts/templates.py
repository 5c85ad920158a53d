"""The words of the prompts for answers and for the next queries, as sets that a run may replace.

The default words are in `skr_core.prompts.words`. Passages are hostile: see
`skr_core.prompts.parts`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import cache
from string import Formatter

from skr_core.errors import InputError
from skr_core.prompts.chat import ChatTemplate, Template, words_of
from skr_core.prompts.parts import (
    version_of,
)
from skr_core.prompts.words import (
    ANSWER_ANYWAY,
    ANSWER_DIRECTLY,
    ANSWER_WITH_REFERENCES,
    CONDENSE,
    DECOMPOSE,
    INSUFFICIENT,
    MAX_QUERIES,
    MISSING,
    PARTIAL,
    QUERY_LEAD,
    REFUSAL,
    SEARCH_LEAD,
    SEARCHED,
    SELF_COMPLETE,
    SUFFICIENT,
    WITH_REFERENCES,
)
from skr_core.texts import encodable

__all__ = [
    "ANSWER_ANYWAY",
    "ANSWER_DIRECTLY",
    "ANSWER_WITH_REFERENCES",
    "CONDENSE",
    "DECOMPOSE",
    "DEFAULT_TEMPLATES",
    "INSUFFICIENT",
    "MAX_QUERIES",
    "MISSING",
    "PARTIAL",
    "PROMPT_VERSION",
    "QUERY_LEAD",
    "REFUSAL",
    "SEARCHED",
    "SEARCH_LEAD",
    "SELF_COMPLETE",
    "SUFFICIENT",
    "WITH_REFERENCES",
    "ChatTemplate",
    "PromptTemplates",
    "checked_question",
]

_CAPITALS = re.compile(r"\b[A-Z]+\b")
_MARKER = re.compile(r"\[(?:\d|n)\]")
# What each template must name, and what it may name besides.
_PLACEHOLDERS: dict[str, tuple[set[str], set[str]]] = {
    "answer_directly": ({"question"}, {"demonstrations"}),
    "answer_with_references": (
        {"question", "references"},
        {"demonstrations", "searched", "missing", "partial"},
    ),
    "answer_anyway": ({"question", "references"}, {"demonstrations"}),
    "self_complete": ({"question", "references"}, {"queries", "limit", "missing", "partial"}),
    "decompose": ({"question"}, {"limit"}),
    "condense": ({"question", "history"}, set()),
}


@dataclass(frozen=True, slots=True)
class PromptTemplates:
    """The words of one run; `skr_core.prompts.papers` has those of three papers.

    A template is a `str.format` string: ``{question}`` and, but for `answer_directly`,
    `decompose` and `condense`, ``{references}`` must stand in it; a literal brace is doubled.
    Answers may also place ``{demonstrations}``, `self_complete` ``{queries}``, and it and
    `decompose` ``{limit}``; `self_complete` and `answer_with_references` what is ``{missing}`` and
    the ``{partial}`` answer, and the latter what was ``{searched}``, each of which is empty or
    lines of its own. A template for answers that asks neither for a verdict nor for a refusal
    leaves it to the model's own words whether the references suffice. A `ChatTemplate` has a system
    message as well.

    Attributes:
        answer_directly: Asks for an answer without references.
        answer_with_references: Asks for a verdict and an answer from references, or a refusal.
        answer_anyway: Asks for the best there is when every draft was a refusal.
        self_complete: Asks what to search next.
        decompose: Asks for the parts of the question, before the first search.
        condense: Asks for a question that stands without the ``{history}`` of its conversation.

    Raises:
        InputError: A placeholder is missing, or there is one that nothing can fill.

    Example:
        >>> from skr_core.prompts.asking import answer_directly
        >>> brief = PromptTemplates(answer_directly="In one word: {question}")
        >>> answer_directly("Capital of France?", templates=brief).text
        'In one word: Capital of France?'
    """

    answer_directly: Template = ANSWER_DIRECTLY
    answer_with_references: Template = ANSWER_WITH_REFERENCES
    answer_anyway: Template = ANSWER_ANYWAY
    self_complete: Template = SELF_COMPLETE
    decompose: Template = DECOMPOSE
    condense: Template = CONDENSE

    def __post_init__(self) -> None:
        for each in fields(self):
            _check_template(each.name, getattr(self, each.name))

    @property
    def states_verdict(self) -> bool:
        """Whether replies begin with a verdict: whether `answer_with_references` asks for one.

        Example:
            >>> PromptTemplates().states_verdict
            True
        """
        return _asks_for_verdict(self.answer_with_references)

    @property
    def asks_for_citations(self) -> bool:
        """Whether an answer has to cite what it rests on: whether the words show a marker.

        Example:
            >>> PromptTemplates().asks_for_citations
            True
        """
        return _asks_for_markers(self.answer_with_references)

    @property
    def version(self) -> str:
        """Changes with any words that may decide an answer, to tell apart what others made.

        `condense` is not among them: what is recorded and compared has no conversation.
        """
        names = [each.name for each in fields(self) if each.name != "condense"]
        words = (str(getattr(self, name)) for name in names)
        return version_of(MISSING, SEARCHED, PARTIAL, *words)


def _check_template(name: str, template: Template) -> None:
    needed, allowed = _PLACEHOLDERS[name]
    try:
        parts = list(Formatter().parse(words_of(template)))
    except (TypeError, ValueError) as error:
        raise InputError(f"the template {name} cannot be read: {error}") from error
    named = {field for _, field, _, _ in parts if field is not None}
    if missing := sorted(needed - named):
        raise InputError(f"the template {name} lacks {{{'}, {'.join(missing)}}}")
    if unknown := sorted(named - needed - allowed):
        raise InputError(
            f"the template {name} names {{{'}, {'.join(unknown)}}}, which nothing fills; "
            "double the braces that are meant as text"
        )
    if any(spec or conversion for _, _, spec, conversion in parts):
        raise InputError(f"the template {name} may name its placeholders, not format them")


DEFAULT_TEMPLATES = PromptTemplates()


def checked_question(question: str) -> str:
    """The question without surrounding space, and without what UTF-8 cannot hold.

    A command's argument that is no UTF-8 holds lone surrogates, which no JSON can store.

    Raises:
        InputError: Nothing is left of it.
    """
    stripped = question.strip() if isinstance(question, str) else ""
    if not stripped:
        raise InputError("the question is empty: ask something")
    return encodable(stripped)


PROMPT_VERSION = DEFAULT_TEMPLATES.version
"""The version of the default templates, so that records made with other words are told apart."""


@cache
def _asks_for_verdict(template: Template) -> bool:
    return {*_CAPITALS.findall(words_of(template))} >= {SUFFICIENT, INSUFFICIENT}


@cache
def _asks_for_markers(template: Template) -> bool:
    return bool(_MARKER.search(words_of(template)))
