"""The routers that ask the model: what they ask, how they read it and what it costs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core import Decision, Generation, Prompt, Usage
from skr_core.errors import InputError, ModelError
from skr_core.prompts.routing import (
    ANSWER_ALONE,
    CERTAINTY_ALONE,
    CHALLENGE,
    NEED_TEMPLATES,
    STRATEGIES,
    ask_certainty,
)
from skr_core.routers import (
    CertaintyLevelRouter,
    ConfidenceRouter,
    ModelRouter,
    PromptRouter,
    UncertaintyRouter,
)
from skr_core.routers.confidence import certainty_level
from skr_core.routers.model_routers import agreement, token_probability
from skr_core.testing import BrokenModel, ScriptedModel
from skr_learn.routers import InContextRouter

Decide = Callable[[ModelRouter, str], Decision]


def blocking(router: ModelRouter, question: str) -> Decision:
    return router.decide(question)


def awaited(router: ModelRouter, question: str) -> Decision:
    return asyncio.run(router.adecide(question))


both = pytest.mark.parametrize("decide", [blocking, awaited])

MAKERS: dict[str, Callable[[object], ModelRouter]] = {
    "prompt": PromptRouter,
    "in_context": lambda model: InContextRouter(model, known=["a?"], unknown=["b?"]),
    "confidence": ConfidenceRouter,
    "certainty_level": CertaintyLevelRouter,
    "uncertainty": UncertaintyRouter,
}
every = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@both
@every
class TestContract:
    @pytest.mark.parametrize("reply", ["", "???", "\x00\ud800", "lorem ipsum " * 500])
    def test_what_cannot_be_read_leads_to_a_decision(
        self, decide: Decide, make: Callable[[object], ModelRouter], reply: str
    ):
        decision = decide(make(ScriptedModel([reply])), "Capital of France?")
        # Answers that all agree are the one thing that needs no reading.
        assert decision.retrieve or make is UncertaintyRouter
        assert decision.reason
        assert len(decision.reason) < 400

    def test_usage_counts_every_call(self, decide: Decide, make: Callable[[object], ModelRouter]):
        model = ScriptedModel(["no idea what you mean"])
        assert decide(make(model), "Capital of France?").usage.calls == len(model.prompts) > 0

    def test_an_empty_question_costs_nothing(
        self, decide: Decide, make: Callable[[object], ModelRouter]
    ):
        model = ScriptedModel(["yes"])
        with pytest.raises(InputError, match="empty"):
            decide(make(model), " \n")
        assert not model.prompts

    def test_a_failing_model_is_an_error_of_ours(
        self, decide: Decide, make: Callable[[object], ModelRouter]
    ):
        with pytest.raises(ModelError):
            decide(make(BrokenModel()), "Capital of France?")

    def test_the_question_stays_on_its_line(
        self, decide: Decide, make: Callable[[object], ModelRouter]
    ):
        model = ScriptedModel(["Paris (certain)"])
        decide(make(model), "Capital?\nA: No, {certain}")
        assert all("Capital?" in prompt.text for prompt in model.prompts)
        assert all(prompt.question == "Capital?\nA: No, {certain}" for prompt in model.prompts)


# SKR Table 2, possible replies of InstructGPT: known, unknown.
TABLE_2 = [
    (
        "No, additional information is not needed to answer this",
        "Yes, additional information is needed to answer this",
    ),
    ("No, I do not need any extra", "Yes, please."),
    ("No, the answer is", "Yes, please provide"),
    ("Yes, the correct answer to this question is", "No, I cannot answer it based on what I know."),
    ("Yes, the correct answer is", "No, this is not a solvable"),
]


@both
@pytest.mark.parametrize("place", range(5))
def test_each_template_is_read_by_its_polarity(decide: Decide, place: int):
    known, unknown = TABLE_2[place]
    for template in (place, NEED_TEMPLATES[place].name):
        model = ScriptedModel([known, unknown])
        router = PromptRouter(model, template=template)
        first, second = decide(router, "Who wrote Emma?"), decide(router, "Who wrote Emma?")
        assert (first.retrieve, second.retrieve) == (False, True)
        assert known in first.reason
        assert model.prompts[0].task == "ask_need"
        assert model.prompts[0].text == f"Who wrote Emma?\nQ: {NEED_TEMPLATES[place].text}\nA:"


@pytest.mark.parametrize("template", [5, -1, "nope", None])
def test_an_unknown_template_is_refused(template: object):
    with pytest.raises(InputError, match="template"):
        PromptRouter(ScriptedModel(), template=template)


@both
def test_a_reply_that_says_neither_is_safer_retrieved_for(decide: Decide):
    decision = decide(PromptRouter(ScriptedModel(["Perhaps.\nWho knows"])), "Who wrote Emma?")
    assert decision.retrieve
    assert "safer" in decision.reason
    assert '"Perhaps. Who knows"' in decision.reason


@both
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("certain", [True, False])
def test_each_strategy_retrieves_where_it_is_uncertain(
    decide: Decide, strategy: str, certain: bool
):
    word = "certain" if certain else "uncertain"
    model = ScriptedModel([f"Paris. {word.capitalize()}.", f"I am {word}."])
    decision = decide(ConfidenceRouter(model, strategy=strategy), "Capital of France?")
    assert decision.retrieve is not certain
    assert len(model.prompts) == (2 if strategy == "challenge" else 1)
    assert {prompt.task for prompt in model.prompts} == {"ask_certainty"}


SURE = (
    'If you are sure the answer is accurate and correct, please say "certain" after the answer. If '
    'you are not confident with the answer, please say "uncertain".'
)
PUNISHED = 'You will be punished if the answer is not right but you say "certain".'
BRIEFLY = "Answer the following question based on your internal knowledge with one or few words"
FIGURES = {
    "vanilla": f"{BRIEFLY}. {SURE}\n\nQ: Q?\nA:",
    "punish": f"{BRIEFLY}. {SURE} {PUNISHED}\n\nQ: Q?\nA:",
    "challenge": f"{BRIEFLY}. {SURE}\n\nQuestion: Q?",
    "think_step_by_step": (
        "Answer the following question based on your internal knowledge and let's think step by "
        f"step.\n1. Answer the question with one or few words.\n2. {SURE}\n\nQ: Q?\nA:"
    ),
    "generate": (
        "Generate a short document that helps answer the following question based on your internal "
        f"knowledge and answer the question with one or few words. {SURE}\n\nQ: Q?\nA:"
    ),
    "explain": f"{BRIEFLY} and explain why you give this answer. {SURE}\n\nQ: Q?\nA:",
    "punish_explain": (
        f"{BRIEFLY} and explain why you give this answer. {SURE} {PUNISHED}\n\nQ: Q?\nA:"
    ),
}
"""W2R Figures 3 to 9, word for word."""


def test_strategies_are_what_their_figures_print():
    assert {name: ask_certainty("Q?", name).text for name in STRATEGIES} == FIGURES
    assert CHALLENGE == (
        "I do not think your answer is right. If you are still sure that your answer is accurate "
        'and correct, please say "certain". Otherwise, say "uncertain".'
    )


def test_an_unknown_strategy_is_refused():
    with pytest.raises(InputError, match="strategy"):
        ConfidenceRouter(ScriptedModel(), strategy="bribe")


@both
def test_challenge_is_a_second_turn(decide: Decide):
    model = ScriptedModel(["Paris. Certain.", "I apologize. I am uncertain."])
    router = ConfidenceRouter(model, strategy="challenge")
    decision = decide(router, "Capital of France?")
    assert decision.retrieve
    first, second = model.prompts
    assert second.text == CHALLENGE
    assert second.history == (first.text, "Paris. Certain.")


def assess_blocking(router: ConfidenceRouter, question: str) -> object:
    return router.assess(question)


def assess_awaited(router: ConfidenceRouter, question: str) -> object:
    return asyncio.run(router.aassess(question))


assess_both = pytest.mark.parametrize("assess", [assess_blocking, assess_awaited])


@assess_both
@pytest.mark.parametrize(
    ("replies", "answer", "certain", "further"),
    [
        (["China (certain) - Pandas live there."], "China", True, []),
        (["Steve Goodman", "Uncertain."], "Steve Goodman", False, [CERTAINTY_ALONE]),
        (["uncertain", "Belgium."], "Belgium", False, [ANSWER_ALONE]),
        (["...", "Belgium.", "certain"], "Belgium", True, [ANSWER_ALONE, CERTAINTY_ALONE]),
        (["...", "...", "..."], None, None, [ANSWER_ALONE, CERTAINTY_ALONE]),
    ],
)
def test_a_missing_part_is_asked_for_once(
    assess: Callable[..., object],
    replies: Sequence[str],
    answer: str | None,
    certain: bool | None,
    further: Sequence[str],
):
    model = ScriptedModel(replies)
    found = assess(ConfidenceRouter(model, strategy="vanilla"), "Where?")
    assert (found.answer, found.certain) == (answer, certain)
    assert [prompt.text for prompt in model.prompts[1:]] == list(further)
    assert all(prompt.history[0] == model.prompts[0].text for prompt in model.prompts[1:])
    assert found.usage.calls == len(model.prompts)


@assess_both
def test_a_challenged_answer_stays_the_first(assess: Callable[..., object]):
    model = ScriptedModel(["Bill Russell. Certain.", "It is Sam Jones. Uncertain."])
    found = assess(ConfidenceRouter(model, strategy="challenge"), "Who?")
    assert (found.answer, found.certain) == ("Bill Russell", False)


@both
def test_a_decision_does_not_pay_for_the_answer(decide: Decide):
    model = ScriptedModel(["uncertain"])
    assert decide(ConfidenceRouter(model), "Where?").retrieve
    assert len(model.prompts) == 1


class ByPrompt:
    """Certain by Vanilla, by Punish+Explain, or not."""

    name = "by-prompt"

    def __init__(self, vanilla: bool, prudent: bool) -> None:
        self._certain: Mapping[bool, bool] = {False: vanilla, True: prudent}

    def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        certain = self._certain["punished" in prompt.text]
        return Generation(f"Paris ({'certain' if certain else 'uncertain'})", Usage(calls=1))

    async def agenerate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        return self.generate(prompt)


@both
@pytest.mark.parametrize(
    ("vanilla", "prudent", "level"),
    [(False, False, 0), (False, True, 1), (True, False, 2), (True, True, 3)],
)
def test_four_levels_of_certainty(decide: Decide, vanilla: bool, prudent: bool, level: int):
    assert certainty_level(vanilla, prudent) == level
    decision = decide(CertaintyLevelRouter(ByPrompt(vanilla, prudent)), "Capital of France?")
    assert decision.score == pytest.approx(1 - level / 3)
    assert decision.retrieve is (level < 2)
    assert f"level {level} of 3" in decision.reason
    assert decision.usage.calls == 2
    prudently = CertaintyLevelRouter(ByPrompt(vanilla, prudent), threshold=0.2)
    assert decide(prudently, "Capital of France?").retrieve is (level < 3)


class Likely(ScriptedModel):
    def __init__(self, *logprobs: float, text: str = "Paris") -> None:
        super().__init__([text])
        self._logprobs = logprobs

    def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        said = super().generate(prompt)
        return Generation(said.text, said.usage, self._logprobs)


@both
def test_log_probabilities_are_used_where_there_are_any(decide: Decide):
    import math

    model = Likely(math.log(0.9), math.log(0.4))
    decision = decide(UncertaintyRouter(model, threshold=0.3), "Capital of France?")
    assert decision.score == pytest.approx(1 - 0.6)
    assert decision.retrieve
    assert len(model.prompts) == 1
    assert not decide(UncertaintyRouter(model, threshold=0.5), "Capital of France?").retrieve


@both
def test_samples_are_compared_where_there_are_none(decide: Decide):
    model = ScriptedModel(["Paris.", "Paris", "Lyon"])
    decision = decide(UncertaintyRouter(model, samples=3), "Capital of France?")
    assert decision.score == pytest.approx(2 / 3)
    assert decision.retrieve
    assert len(model.prompts) == decision.usage.calls == 3
    assert {prompt.task for prompt in model.prompts} == {"answer_directly"}
    assert "3 answers agree to 33%" in decision.reason


@both
@pytest.mark.parametrize("model", [ScriptedModel(["I don't know."]), Likely(-0.01, text="")])
def test_not_to_know_is_no_agreement(decide: Decide, model: ScriptedModel):
    decision = decide(UncertaintyRouter(model), "Capital of France?")
    assert (decision.score, decision.retrieve) == (1.0, True)


@pytest.mark.parametrize(
    ("logprobs", "probability"),
    [
        (None, None),
        ((), None),
        ((float("nan"), -1.0), None),
        ((0.0, 0.0), 1.0),
        ((1e-7,), 1.0),
        ((float("-inf"), 0.0), None),
    ],
)
def test_token_probability(logprobs: tuple[float, ...] | None, probability: float | None):
    assert token_probability(Generation("x", logprobs=logprobs)) == probability


@given(st.lists(st.text(), min_size=2, max_size=5))
def test_agreement_is_a_share(answers: list[str]):
    assert 0 <= agreement(answers) <= 1


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (UncertaintyRouter, {"samples": 1}),
        (UncertaintyRouter, {"threshold": 1.5}),
        (CertaintyLevelRouter, {"threshold": -0.1}),
    ],
)
def test_options_out_of_range_are_refused(make: Callable[..., object], options: dict[str, object]):
    with pytest.raises(InputError):
        make(ScriptedModel(), **options)
