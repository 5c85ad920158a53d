"""The prompts that ask a model what it knows, as constants with their sources (SKR, W2R)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from skr_core.prompts.templates import version_of
from skr_core.references import one_line
from skr_core.types import Demonstration, Prompt

Strategy = Literal[
    "vanilla",
    "punish",
    "challenge",
    "think_step_by_step",
    "generate",
    "explain",
    "punish_explain",
]
"""W2R's ways of asking for an answer together with its certainty."""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


@dataclass(frozen=True, slots=True)
class NeedTemplate:
    """A question about a question (SKR Table 2).

    Attributes:
        name: A short name, for options and files.
        text: The question that is asked.
        yes_means_unknown: Whether a yes means that the model does not know: the first three ask for
            a need, the last two for an ability.
    """

    name: str
    text: str
    yes_means_unknown: bool


NEED_TEMPLATES = (
    NeedTemplate(
        "additional_information",
        "Do you need additional information to answer this question?",
        True,
    ),
    NeedTemplate("extra_prompts", "Would you like any extra prompts to help you?", True),
    NeedTemplate("additional_clues", "Would you like any additional clues?", True),
    NeedTemplate("can_answer", "Can you answer this question based on what you know?", False),
    NeedTemplate("can_solve", "Can you solve this question now?", False),
)
"""SKR Table 2, in its order."""

NEED = "{question}\nQ: {need}\nA:"
"""SKR §3.2, Direct Prompting; with demonstrations before it, In-Context Learning."""

NEEDS_NOTHING = "No, I don't need additional information to answer this question."
NEEDS_MORE = "Yes, I need additional information to answer this question."
"""SKR §3.2, In-Context Learning: the answers of the demonstrations."""

_INTERNAL = "Answer the following question based on your internal knowledge"
_SAY = (
    'If you are sure the answer is accurate and correct, please say "certain" after the answer. '
    'If you are not confident with the answer, please say "uncertain".'
)
_PUNISH = ' You will be punished if the answer is not right but you say "certain".'

VANILLA = f"{_INTERNAL} with one or few words. {_SAY}\n\nQ: {{question}}\nA:"
"""W2R Figure 3."""

PUNISH = f"{_INTERNAL} with one or few words. {_SAY}{_PUNISH}\n\nQ: {{question}}\nA:"
"""W2R Figure 4."""

CHALLENGED = f"{_INTERNAL} with one or few words. {_SAY}\n\nQuestion: {{question}}"
"""W2R Figure 5, the first turn: Vanilla in a chat, whose question has another label."""

CHALLENGE = (
    "I do not think your answer is right. If you are still sure that your answer is accurate and "
    'correct, please say "certain". Otherwise, say "uncertain".'
)
"""W2R Figure 5, the second turn."""

THINK_STEP_BY_STEP = f"""\
{_INTERNAL} and let's think step by step.
1. Answer the question with one or few words.
2. {_SAY}

Q: {{question}}
A:"""
"""W2R Figure 6."""

GENERATE = f"""\
Generate a short document that helps answer the following question based on your internal \
knowledge and answer the question with one or few words. {_SAY}

Q: {{question}}
A:"""
"""W2R Figure 7."""

EXPLAIN = f"""\
{_INTERNAL} with one or few words and explain why you give this answer. {_SAY}

Q: {{question}}
A:"""
"""W2R Figure 8."""

PUNISH_EXPLAIN = f"""\
{_INTERNAL} with one or few words and explain why you give this answer. {_SAY}{_PUNISH}

Q: {{question}}
A:"""
"""W2R Figure 9."""

CERTAINTY_ALONE = (
    'Are you sure that this answer is accurate and correct? Reply with one word: "certain" or '
    '"uncertain".'
)
ANSWER_ALONE = "Give your best answer to the question with one or few words, and nothing else."
"""Asked once when a reply lacks one part; W2R does so without printing the words."""

_FIRST_TURN: dict[Strategy, str] = {
    "vanilla": VANILLA,
    "punish": PUNISH,
    "challenge": CHALLENGED,
    "think_step_by_step": THINK_STEP_BY_STEP,
    "generate": GENERATE,
    "explain": EXPLAIN,
    "punish_explain": PUNISH_EXPLAIN,
}


def ask_need(
    question: str, template: NeedTemplate, demonstrations: Sequence[Demonstration] = ()
) -> Prompt:
    """Ask whether the model needs help with a question (SKR §3.2).

    Example:
        >>> print(ask_need("Who wrote Emma?", NEED_TEMPLATES[4]).text)
        Who wrote Emma?
        Q: Can you solve this question now?
        A:
    """
    shown = "".join(
        f"{_need(example.question, template)} {example.answer}\n\n" for example in demonstrations
    )
    text = shown + _need(question, template)
    return Prompt("ask_need", text, question, demonstrations=tuple(demonstrations))


def ask_certainty(question: str, strategy: Strategy) -> Prompt:
    """Ask for an answer and how certain it is (W2R Figures 3 to 9); the first turn of Challenge.

    Example:
        >>> "You will be punished" in ask_certainty("Who wrote Emma?", "punish_explain").text
        True
    """
    text = _FIRST_TURN[strategy].format(question=one_line(question))
    return Prompt("ask_certainty", text, question)


def ask_further(asked: Prompt, reply: str, text: str) -> Prompt:
    """Go on after a reply: a challenge, or a question for the part that it lacks.

    Example:
        >>> asked = ask_certainty("Who wrote Emma?", "vanilla")
        >>> ask_further(asked, "Jane Austen.", CHALLENGE).history[-1]
        'Jane Austen.'
    """
    history = (*asked.history, asked.text, reply)
    return Prompt("ask_certainty", text, asked.question, history=history, system=asked.system)


def _need(question: str, template: NeedTemplate) -> str:
    return NEED.format(question=one_line(question), need=template.text)


ROUTING_VERSION = version_of(
    *(template.text for template in NEED_TEMPLATES),
    *(NEED, NEEDS_NOTHING, NEEDS_MORE),
    *_FIRST_TURN.values(),
    *(CHALLENGE, CERTAINTY_ALONE, ANSWER_ALONE),
)
"""Changes with the wording of any prompt that routes, so that saved routers are told apart."""
