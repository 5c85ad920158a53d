"""Every word that is sent to a language model.

| module | what it is about |
|---|---|
| `templates` | answers, and the next queries: sets of words that a run may replace |
| `asking` | prompts for these, rendered from a set |
| `papers` | the three papers' own words for the same |
| `judging` | verdicts: sufficient, right, entailed; and how likely an answer is |
| `routing` | what does the model know? (SKR, W2R) |

Each set of words has a version, a short hash that belongs into the stamp of what is made with it.
`papers` and `routing` are imported as modules, by whoever needs them.
"""

from skr_core.prompts.asking import (
    PASSAGES,
    answer_anyway,
    answer_directly,
    answer_with_references,
    checked_question,
    condense,
    decompose,
    demonstrate,
    number_references,
    self_complete,
)
from skr_core.prompts.judging import (
    JUDGING_VERSION,
    ask_entailment,
    ask_is_right,
    ask_is_sufficient,
    judge_name,
)
from skr_core.prompts.templates import (
    ANSWER_ANYWAY,
    ANSWER_DIRECTLY,
    ANSWER_WITH_REFERENCES,
    CONDENSE,
    DECOMPOSE,
    DEFAULT_TEMPLATES,
    INSUFFICIENT,
    MAX_QUERIES,
    MISSING,
    PARTIAL,
    PROMPT_VERSION,
    QUERY_LEAD,
    REFUSAL,
    SEARCH_LEAD,
    SEARCHED,
    SELF_COMPLETE,
    SUFFICIENT,
    TOOL_DESCRIPTION,
    TOOL_NAME,
    WITH_REFERENCES,
    ChatTemplate,
    PromptTemplates,
    RunTemplate,
    Template,
    as_format,
    escaped,
    messages_of,
    no_question,
    placeholders_of,
    rendered,
    template_of,
    version_of,
    words_of,
)

__all__ = [
    "ANSWER_ANYWAY",
    "ANSWER_DIRECTLY",
    "ANSWER_WITH_REFERENCES",
    "CONDENSE",
    "DECOMPOSE",
    "DEFAULT_TEMPLATES",
    "INSUFFICIENT",
    "JUDGING_VERSION",
    "MAX_QUERIES",
    "MISSING",
    "PARTIAL",
    "PASSAGES",
    "PROMPT_VERSION",
    "QUERY_LEAD",
    "REFUSAL",
    "SEARCHED",
    "SEARCH_LEAD",
    "SELF_COMPLETE",
    "SUFFICIENT",
    "TOOL_DESCRIPTION",
    "TOOL_NAME",
    "WITH_REFERENCES",
    "ChatTemplate",
    "PromptTemplates",
    "RunTemplate",
    "Template",
    "answer_anyway",
    "answer_directly",
    "answer_with_references",
    "as_format",
    "ask_entailment",
    "ask_is_right",
    "ask_is_sufficient",
    "checked_question",
    "condense",
    "decompose",
    "demonstrate",
    "escaped",
    "judge_name",
    "messages_of",
    "no_question",
    "number_references",
    "placeholders_of",
    "rendered",
    "self_complete",
    "template_of",
    "version_of",
    "words_of",
]
