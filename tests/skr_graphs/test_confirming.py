"""What a search finds may confirm what the model knows: then nothing is read."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from skr_core import Question, Settings, load_router
from skr_core.rivals import share_standing
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import GraphAnswerer, create_self_completion_graph
from skr_learn import Policy, Record, calibrate, collect

TOWNS = 60


def asked(n: int) -> str:
    return f"Who founded the town of Elm {n}?"


def passages(n: int) -> list[str]:
    return [f"The town of Elm {n} lies on a hill.", f"Elm {n} was founded by Ada Berg {n}."]


class Remembering(ScriptedModel):
    """Remembers every other founder right; misreads where it does."""

    def _text(self, n: int, reads: bool) -> str:
        right = (n % 2 == 0) != reads
        founder = f"Ada Berg {n}" if right else f"Bo Lund {n + 1}"
        return f"SUFFICIENT\n{founder} [2]." if reads else f"{founder}."

    def generate(self, prompt: Any, **more: Any) -> Any:
        n = int(prompt.question.rstrip("?").split()[-1])
        self._rules = self._text(n, bool(prompt.references))
        self.prompts.append(prompt)
        from skr_core import Generation, Usage

        return Generation(self._rules, Usage(50 + 200 * bool(prompt.references), 5, calls=1))

    async def agenerate(self, prompt: Any, **more: Any) -> Any:
        return self.generate(prompt)


def library() -> MappingRetriever:
    return MappingRetriever({asked(n): passages(n) for n in range(TOWNS)})


def system(**options: Any) -> GraphAnswerer:
    return GraphAnswerer(Settings.of(Remembering(), library(), **options))


@cache
def records() -> tuple[Record, ...]:
    questions = [Question(str(n), asked(n), (f"Ada Berg {n}",)) for n in range(40)]
    return tuple(collect(questions, system()))


@cache
def policy() -> Policy:
    made: Policy = calibrate(
        list(records()), routers=["confirm"], cost="tokens", stream=True
    ).router
    return made


def test_records_hold_how_direct_answers_stand_in_what_was_found():
    right, wrong = (each.direct.confirmation for each in records()[:2])
    assert right is not None
    assert wrong is not None
    assert (right.share, right.rank, right.asked) == (1.0, 0.5, 0.75)
    assert wrong.share < 1


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_confirmed_answer_is_not_read_for_and_cites_what_holds_it(
    tmp_path: Path, is_async: bool, loaded: bool
):
    router: Any = policy()
    if loaded:
        router.save(tmp_path / "router")
        router = load_router(tmp_path / "router", force=True)
    answerer = system(router=router)
    for n in range(40, TOWNS):
        answer = asyncio.run(answerer.aanswer(asked(n))) if is_async else answerer.answer(asked(n))
        assert f"Ada Berg {n}" in answer.text
        if n % 2:
            assert (answer.stop_reason, answer.total_usage.calls) == ("sufficient", 2)
            continue
        assert (answer.stop_reason, answer.total_usage.calls) == ("confirmed", 1)
        assert (answer.decision.action, answer.grounded, answer.sufficient) == (
            "direct",
            False,
            True,
        )
        assert answer.text == f"Ada Berg {n}. [1]"
        (citation,), (cited,) = answer.citations, answer.cited_references
        assert citation.quote == cited.text
        assert share_standing(f"Ada Berg {n}", [cited.text]) == 1
        assert answer.chance is not None


def test_one_that_is_confirmed_by_no_whole_passage_cites_none():
    class Sure:
        drafts, searches, actions = True, True, ("direct", "single")

        def decide(self, question: str) -> Any: ...

        async def adecide(self, question: str) -> Any: ...

        def decide_on(self, question: str, direct: Any) -> Any:
            from skr_core import Decision

            return Decision(True)

        async def adecide_on(self, question: str, direct: Any) -> Any:
            return self.decide_on(question, direct)

        def decide_after(self, question: str, answers: Any) -> Any:
            from skr_core import Decision

            return Decision(False)

        async def adecide_after(self, question: str, answers: Any) -> Any:
            return self.decide_after(question, answers)

    answer = system(router=Sure()).answer(asked(1))
    assert (answer.text, answer.references, answer.stop_reason) == ("Bo Lund 2.", (), "confirmed")


def test_it_is_told_in_the_stream_and_the_conversation():
    graph = create_self_completion_graph(
        model=Remembering(), retriever=library(), router=policy()
    ).compile()
    steps = list(graph.stream({"question": asked(42)}, stream_mode=["custom", "values"]))
    types = [step["type"] for mode, step in steps if mode == "custom"]
    assert types.count("route") == 2
    assert types[-1] == "answer"
    assert "draft" not in types
    (last,) = (step for mode, step in steps[-1:])
    assert last["messages"][-1].text == last["answer"] == "Ada Berg 42. [1]"


def test_abstaining_holds_there_too():
    answer = system(router=policy(), abstain_below=1.0, abstention="Ask us.").answer(asked(42))
    assert (answer.text, answer.citations, answer.stop_reason) == ("Ask us.", (), "confirmed")
