"""The papers' own words as template sets, to reproduce them or to compare with.

Both answer once, from what is at hand: neither asks for the refusal sentence, so no draft is ever
found insufficient and no follow-up query is asked. References keep their numbers, which a model
may cite.

Example:
    >>> from skr_core.prompts.templates import answer_with_references
    >>> from skr_core.types import Reference
    >>> france = Reference.of("Paris is the capital of France.")
    >>> print(answer_with_references("Capital of France?", [france], templates=SKR_TEMPLATES).text)
    Question: Capital of France?
    Here are some passages:
    [1] Paris is the capital of France.
    Answer:
"""

from __future__ import annotations

from skr_core.prompts.templates import PromptTemplates

_SKR_DIRECTLY = """\
{demonstrations}Question: {question}
Answer:"""

_SKR_WITH_PASSAGES = """\
{demonstrations}Question: {question}
Here are some passages:
{references}
Answer:"""

SKR_TEMPLATES = PromptTemplates(
    answer_directly=_SKR_DIRECTLY,
    answer_with_references=_SKR_WITH_PASSAGES,
    answer_anyway=_SKR_WITH_PASSAGES,
)
"""SKR §3.3: few-shot, with "Here are some passages:" where the question is unknown.

The paper gives four demonstrations and three passages; both are the caller's to give, as
`demonstrations` and as ``Budget(max_references=3)``.
"""

_W2R_DIRECTLY = """\
{demonstrations}Answer the following question based on your internal knowledge with one or few \
words.

Q: {question}
A:"""

_W2R_WITH_INFORMATION = """\
{demonstrations}Given the following information:

{references}

Answer the following question based on the given information or your internal knowledge with one \
or few words.

Q: {question}
A:"""

W2R_TEMPLATES = PromptTemplates(
    answer_directly=_W2R_DIRECTLY,
    answer_with_references=_W2R_WITH_INFORMATION,
    answer_anyway=_W2R_WITH_INFORMATION,
)
"""W2R Figure 10 for unknown questions, and Figure 3 without its certainty for known ones.

The paper gives one document: ``Budget(max_references=1)``.
"""
