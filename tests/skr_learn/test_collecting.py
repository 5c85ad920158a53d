"""Collection asks each question once, keeps what it has, and goes on after failures and kills."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.runnables import ensure_config

from skr_core import (
    Action,
    Answer,
    Budget,
    Demonstration,
    Generation,
    Prompt,
    Question,
    Reference,
    Reflection,
    Settings,
)
from skr_core.candidates import Standing
from skr_core.errors import InputError, ModelError, StampMismatch
from skr_core.prompts import REFUSAL, answer_directly, answer_with_references
from skr_core.replies import say_partial
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import ACTIONS
from skr_graphs import GraphAnswerer
from skr_graphs.graph import DECISIONS
from skr_learn import Record, Records, acollect, collect
from skr_learn.collecting import Progress
from skr_learn.formats import record_of
from skr_learn.records import row_of
from skr_learn.routers.registry import asking_routers
from skr_learn.scoring import Judge
from tests.skr_graphs import climbing

Collect = Callable[..., list[Record]]
SYSTEM = ("demonstrations", "templates", "budget", "when_insufficient", "reflector")


def answerer(model: object, retriever: object, options: dict[str, object]) -> GraphAnswerer:
    chosen = {name: options.pop(name) for name in SYSTEM if name in options}
    return GraphAnswerer(Settings.of(model, retriever, **chosen))  # type: ignore[arg-type]


def blocking(asked: list[Question], *, model, retriever, **options) -> list[Record]:
    return collect(asked, answerer(model, retriever, options), **options)


def awaited(asked: list[Question], *, model, retriever, **options) -> list[Record]:
    return asyncio.run(acollect(asked, answerer(model, retriever, options), **options))


both = pytest.mark.parametrize("gather", [blocking, awaited])

QUESTIONS = [Question(str(n), f"Question {n}?", (f"gold{n}",)) for n in range(6)]


@both
def test_questions_without_right_answers_are_told(
    gather: Collect, caplog: pytest.LogCaptureFixture
):
    asked = [Question("1", "Who?", ()), Question("2", "Why?", (" ",))]
    assert gather(asked, model=ScriptedModel(), retriever=MappingRetriever({})) == []
    assert "none of the questions has a right answer" in caplog.text


@both
@pytest.mark.parametrize("wrong", ["questions.jsonl", ["Who?"], [{"question": "Who?"}]])
def test_what_is_no_question_is_told(gather: Collect, wrong: object):
    with pytest.raises(InputError, match=r"a Question is wanted, not (str|dict): give Question"):
        gather(wrong, model=ScriptedModel(), retriever=MappingRetriever({}))


class Student:
    """Knows even numbers by itself, odd ones from references; broken for chosen questions."""

    name = "student"

    def __init__(self, broken: Sequence[str] = ()) -> None:
        self.broken = set(broken)
        self.prompts: list[Prompt] = []
        self._lock = threading.Lock()

    def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        with self._lock:
            self.prompts.append(prompt)
        if prompt.question in self.broken:
            raise ModelError("overloaded")
        number = int(prompt.question.split()[1].rstrip("?"))
        knows = (prompt.task == "answer_directly") == (number % 2 == 0)
        text = f"It is gold{number} [1]." if knows else "It is something else [1]."
        return Generation(text, logprobs=(-0.5, -1.5))

    async def agenerate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        await asyncio.sleep(0)
        return self.generate(prompt)


def retriever() -> MappingRetriever:
    return MappingRetriever({each.question: [f"about {each.question}"] for each in QUESTIONS})


@both
def test_compares_the_answers_without_and_with_references(gather: Collect):
    records = gather(QUESTIONS, model=Student(), retriever=retriever(), corpus="toy")
    assert [record.question for record in records] == [each.question for each in QUESTIONS]
    assert [record.effect for record in records] == ["hurts", "helps"] * 3
    first = records[0]
    assert first.gold == ("gold0",)
    assert (first.stamp.model, first.stamp.retriever) == ("student", "mapping")
    assert (first.stamp.corpus, first.stamp.metric) == ("toy", "accuracy")
    assert first.stamp.system
    assert first.direct.logprob == -1.0
    assert first.extra["id"] == "0"
    assert [first.outcomes[action].retrievals for action in ACTIONS] == [0, 1, 1]
    (draft,) = first.outcomes["loop"].drafts
    assert first.outcomes["single"] == replace(first.outcomes["loop"], drafts=())
    assert (draft.text, draft.score) == (first.outcomes["loop"].answer, 0.0)


@both
def test_records_what_each_round_drafted_and_whether_it_was_right(gather: Collect):
    asked = climbing.question_of("captain", 1)
    (record,) = gather([asked], model=climbing.Knowing(), retriever=climbing.library(range(3)))
    first, last = record.outcomes["loop"].drafts
    assert (first.text, first.score) == ("A sailor [1].", 0.0)
    assert (last.text, last.score) == ("Bo 1 [2].", 1.0)
    assert last.grounded
    assert last.standing.own < 1
    assert record_of(row_of(record), "here", 1) == record


@both
def test_records_how_the_answers_stand_in_the_references(gather: Collect):
    found = {"Question 1?": ["It is something else in short.", "Not gold1 here, says the text."]}
    (record,) = gather(QUESTIONS[1:2], model=Student(), retriever=MappingRetriever(found))
    assert record.direct.answer == "It is something else."
    assert (record.direct.grounded, record.direct.standing) == (None, None)
    for action in ("single", "loop"):
        outcome = record.outcomes[action]
        assert outcome.grounded is True
        # "something else" stands in the first reference, which is cited; "gold1" in the second.
        assert outcome.standing == Standing(direct=1.0, direct_cited=1.0, own=1.0)
    assert record_of(row_of(record), "records.jsonl", 1).outcomes == record.outcomes


@both
def test_asks_by_the_prompts_that_the_graph_serves(gather: Collect):
    model = Student()
    shown = [Demonstration("Capital?", "Paris.")]
    (record,) = gather(QUESTIONS[:1], model=model, retriever=retriever(), demonstrations=shown)
    reference = Reference.of("about Question 0?")
    assert model.prompts == [
        answer_directly("Question 0?", shown),
        answer_with_references("Question 0?", [reference], shown, queries=["Question 0?"]),
    ]
    plain = gather(QUESTIONS[:1], model=model, retriever=retriever())[0]
    assert record.stamp.system != plain.stamp.system


def two_rounds(**more: list[str]) -> dict[str, list[str]]:
    return {
        "answer_directly": ["No idea."],
        "answer_with_references": [REFUSAL, "It is gold0 [2]."],
        "self_complete": ["Question 1?"],
        "answer_anyway": ["It is gold0, I think."],
        **more,
    }


@both
def test_each_action_has_its_outcome(gather: Collect):
    model, seen = ScriptedModel(two_rounds()), []
    (record,) = gather(
        QUESTIONS[:1],
        model=model,
        retriever=retriever(),
        when_insufficient="own_knowledge",
        on_progress=seen.append,
    )
    direct, single, loop = (record.outcomes[action] for action in ACTIONS)
    assert (direct.score, single.score, loop.score) == (0, 1, 1)
    assert (direct.stop_reason, single.stop_reason, loop.stop_reason) == (
        "known",
        "max_rounds",
        "sufficient",
    )
    assert (direct.rounds, single.rounds, loop.rounds) == (0, 1, 2)
    assert (direct.retrievals, single.retrievals, loop.retrievals) == (0, 1, 2)
    # One round: a refusal, and the last call that a system of one round makes.
    assert (direct.usage.calls, single.usage.calls, loop.usage.calls) == (1, 2, 3)
    assert seen[-1].usage.calls == len(model.prompts) == 5


@both
def test_a_single_round_costs_nothing_where_its_draft_stands(gather: Collect):
    class NeverSatisfied:
        def reflect(self, question, references, draft):
            return Reflection(False, "it could be better")

        async def areflect(self, question, references, draft):
            return self.reflect(question, references, draft)

    drafts = ["It is gold0 [1].", "It is something else [1]."]
    model = ScriptedModel(two_rounds(answer_with_references=drafts))
    (record,) = gather(
        QUESTIONS[:1],
        model=model,
        retriever=retriever(),
        reflector=NeverSatisfied(),
        budget=Budget(max_rounds=2),
    )
    outcomes = record.outcomes
    asked = QUESTIONS[0].question
    assert outcomes["single"].answer == say_partial(asked, "It is gold0 [1].")
    assert outcomes["loop"].answer == say_partial(asked, "It is something else [1].")
    assert [prompt.task for prompt in model.prompts] == [
        "answer_directly",
        "answer_with_references",
        "self_complete",
        "answer_with_references",
    ]


@both
@pytest.mark.parametrize("when", ["best_draft", "own_knowledge", "refuse"])
@pytest.mark.parametrize("queries", [["Question 1?"], ["None"], ["nothing finds this"]])
def test_a_single_round_is_what_a_system_of_one_round_answers(
    gather: Collect, when: str, queries: list[str]
):
    script = two_rounds(answer_with_references=[REFUSAL], self_complete=queries)
    options = {"retriever": retriever(), "when_insufficient": when}
    (record,) = gather(QUESTIONS[:1], model=ScriptedModel(script), **options)
    served = answerer(ScriptedModel(script), retriever(), {"when_insufficient": when})
    answer = served.answer(QUESTIONS[0].question, "single")
    single = record.outcomes["single"]
    assert single.answer == answer.text
    assert single.stop_reason == answer.stop_reason
    assert single.usage == answer.total_usage
    assert single.rounds == len(answer.rounds)


@both
def test_a_question_is_put_with_its_options(gather: Collect):
    model = ScriptedModel(["(b)"])
    asked = [Question("1", "Where?", ("inn",), choices=("sea", "inn"))]
    (record,) = gather(asked, model=model, retriever=MappingRetriever({}))
    assert record.question == "Where? Answer Choices: (a) sea (b) inn"
    assert record.direct.score == 1.0
    assert {prompt.question for prompt in model.prompts} == {record.question}


@both
def test_the_type_of_a_question_is_recorded(gather: Collect):
    typed = Question("1", "Who?", ("Ada",), types=("Implicit", "Ordinal"))
    plain = Question("2", "Which?", ("Bob",))
    found = gather([typed, plain], model=ScriptedModel(["Ada"]), retriever=MappingRetriever({}))
    assert [each.extra.get("type") for each in found] == ["Implicit, Ordinal", None]


@both
def test_routers_that_ask_the_model_are_asked_once_a_question(gather: Collect, tmp_path: Path):
    out = tmp_path / "r.jsonl"
    script = {
        "answer_directly": ["Nothing."],
        "ask_certainty": ["gold0 (certain)"],
        "ask_need": ["Yes."],
    }
    model = ScriptedModel(script, otherwise="It is gold0 [1].")
    options = {"model": model, "retriever": retriever(), "out": out}
    gather(QUESTIONS[:1], **options)
    asked = len(model.prompts)
    ask = asking_routers(["confidence", "prompt:can_answer"], model)
    (record,) = gather(QUESTIONS[:1], **options, ask=ask)
    assert len(model.prompts) == asked + 2, "what is on record is not asked again"
    said = record.statements["confidence:punish_explain"]
    assert (said.retrieve, said.draft, said.draft_score) == (False, "gold0", 1.0)
    assert said.usage.calls == 1
    assert record.statements["prompt:can_answer"].retrieve is False
    assert gather(QUESTIONS[:1], **options, ask=ask) == [record]
    assert len(model.prompts) == asked + 2
    assert Records.read(out) == [record]


@both
def test_in_context_shows_other_questions_only(gather: Collect):
    model = Student()
    (first, *_) = gather(
        QUESTIONS, model=model, retriever=retriever(), ask=asking_routers(["in_context"], model)
    )
    assert "in_context" in first.statements
    for prompt in model.prompts:
        if prompt.task == "ask_need":
            assert prompt.demonstrations
            assert prompt.question not in {shown.question for shown in prompt.demonstrations}


@both
def test_a_statement_that_fails_is_asked_for_again(gather: Collect, tmp_path: Path):
    class Shy(ScriptedModel):
        shy = True

        def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
            if self.shy and prompt.task == "ask_need":
                raise ModelError("not now")
            return super().generate(prompt)

    model, seen = Shy(["No."]), []
    options = {"retriever": retriever(), "out": tmp_path / "r.jsonl"}
    ask = asking_routers(["prompt"], model)
    (record,) = gather(QUESTIONS[:1], model=model, **options, ask=ask, on_progress=seen.append)
    assert not record.statements
    assert (seen[-1].recorded, seen[-1].failed, seen[-1].missed) == (1, 0, 1)
    model.shy = False
    (record,) = gather(QUESTIONS[:1], model=model, **options, ask=ask)
    assert list(record.statements) == ["prompt:additional_information"]


@both
def test_where_nothing_is_found_the_loop_answers_as_it_is_served(gather: Collect):
    model = ScriptedModel({"answer_directly": ["gold0"], "answer_anyway": ["Who knows."]})
    (record,) = gather(
        QUESTIONS[:1],
        model=model,
        retriever=MappingRetriever({}),
        when_insufficient="own_knowledge",
    )
    assert record.outcomes["loop"].answer == "Who knows."
    assert record.outcomes["loop"].stop_reason == "no_new_queries"
    assert record.effect == "hurts"


@both
def test_what_is_on_record_is_not_asked_again(gather: Collect, tmp_path: Path):
    out = tmp_path / "r.jsonl"
    first = gather(QUESTIONS[:4], model=Student(), retriever=retriever(), out=out)
    model, seen = Student(), []
    again = gather(QUESTIONS, model=model, retriever=retriever(), out=out, on_progress=seen.append)
    assert again[:4] == first
    assert {prompt.question for prompt in model.prompts} == {"Question 4?", "Question 5?"}
    assert (seen[0].reused, seen[0].done, seen[-1].done) == (4, 4, 6)
    assert sorted(each.question for each in Records.read(out)) == sorted(
        each.question for each in QUESTIONS
    )


@both
def test_only_the_records_asked_for_come_back(gather: Collect, tmp_path: Path):
    out = tmp_path / "r.jsonl"
    gather(QUESTIONS, model=Student(), retriever=retriever(), out=out)
    records = gather(QUESTIONS[2:3], model=Student(), retriever=retriever(), out=out)
    assert [record.question for record in records] == ["Question 2?"]


@both
def test_a_failed_question_is_counted_and_asked_again(
    gather: Collect, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    out, model, seen = tmp_path / "r.jsonl", Student(broken=["Question 3?"]), []
    with caplog.at_level(logging.WARNING):
        records = gather(
            QUESTIONS, model=model, retriever=retriever(), out=out, on_progress=seen.append
        )
    assert len(records) == 5
    assert (seen[-1].failed, seen[-1].recorded, seen[-1].done) == (1, 5, 6)
    assert "overloaded" in seen[-1].last_failure
    assert "1 of 6 questions failed" in caplog.text
    model.broken.clear()
    model.prompts.clear()
    assert len(gather(QUESTIONS, model=model, retriever=retriever(), out=out)) == 6
    assert {prompt.question for prompt in model.prompts} == {"Question 3?"}


class RudeRetriever:
    name = "rude"

    def retrieve(self, query: str) -> Sequence[Reference]:
        raise ZeroDivisionError("no index")

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        return self.retrieve(query)


@both
def test_whatever_a_retriever_raises_is_a_failure(gather: Collect):
    seen: list[Progress] = []
    with pytest.raises(ModelError, match=r"every question failed; the last: .*no index"):
        gather(QUESTIONS, model=Student(), retriever=RudeRetriever(), on_progress=seen.append)
    assert seen[-1].failed == 6


@both
def test_duplicates_are_asked_once_and_the_unscorable_not_at_all(gather: Collect):
    model, seen = Student(), []
    asked = [
        QUESTIONS[0],
        Question("x", " question  0? ", ("gold0",)),
        Question("y", "Question 1?", ()),
        Question("z", "Question 2?", (" ",)),
    ]
    records = gather(asked, model=model, retriever=retriever(), on_progress=seen.append)
    assert len(records) == 1
    assert len(model.prompts) == 2
    assert (seen[-1].total, seen[-1].unscored, seen[-1].repeated) == (1, 2, 1)


@both
@pytest.mark.parametrize("text", ["Question 0?", "QUESTION 0? "])
def test_one_question_with_other_right_answers_is_refused(
    gather: Collect, text: str, tmp_path: Path
):
    model = Student()
    given = {"model": model, "retriever": retriever(), "out": tmp_path / "r.jsonl"}
    again = Question("x", text, ("silver",))
    with pytest.raises(InputError, match=r"'silver'.* \(question x\) and .*'gold0'.*question 0"):
        gather([QUESTIONS[0], again], **given)
    assert not model.prompts
    gather(QUESTIONS[:1], **given)
    with pytest.raises(InputError, match=r"on record in .*r\.jsonl.*rescore"):
        gather([again], **given)


class Tenants:
    """Finds what belongs to the tenant of the run's config."""

    name = "tenants"

    def retrieve(self, query: str) -> Sequence[Reference]:
        tenant = ensure_config()["configurable"].get("tenant", "nobody")
        return [Reference.of(f"The colour of {tenant} is {tenant}-ish.")]

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        return self.retrieve(query)


@both
def test_a_question_has_a_config_of_its_own(gather: Collect, tmp_path: Path):
    def read(prompt: Prompt) -> str:
        found = re.findall(r"\w+-ish", prompt.text)
        return f"SUFFICIENT\n{found[0]} [1]." if found else "No idea."

    class Reader(ScriptedModel):
        def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
            return Generation(read(prompt))

    asked = [
        Question(name, "Which colour?", (f"{name}-ish",), config={"configurable": {"tenant": name}})
        for name in ("red", "blue")
    ]
    given = {"model": Reader(), "retriever": Tenants(), "out": tmp_path / "r.jsonl"}
    found = gather(asked, **given)
    assert [each.retrieved.score for each in found] == [1.0, 1.0]
    assert [each.question for each in found] == ["Which colour?"] * 2
    assert gather(asked, **given) == found, "both are on record"
    live = replace(asked[0], config={"callbacks": [print]})
    with pytest.raises(InputError, match="plain values"):
        gather([live], **given)


@both
def test_a_question_has_a_history_of_its_own(gather: Collect):
    model = ScriptedModel(
        {"condense": ["Which river flows through Paris?"], "answer_directly": ["The Seine."]},
        otherwise="The Seine [1].",
    )
    search = MappingRetriever({"Which river flows through Paris?": ["Paris lies on the Seine."]})
    before = (("user", "Where is Paris?"), ("assistant", "In France."))
    asked = Question("1", "And which river flows through it?", ("Seine",), history=before)
    (record,) = gather([asked], model=model, retriever=search)
    assert record.question == "Which river flows through Paris?"
    assert [each.score for each in record.outcomes.values()] == [1.0, 1.0, 1.0]
    assert record.retrieved.grounded


@both
def test_a_judge_scores_and_its_silence_is_a_failure(gather: Collect):
    judge = ScriptedModel(["right", "wrong"], name="judge")
    seen: list[Progress] = []
    (record,) = gather(
        QUESTIONS[:1],
        model=Student(),
        retriever=retriever(),
        metric=Judge(judge),
        on_progress=seen.append,
    )
    assert (record.direct.score, record.outcomes["single"].score) == (1.0, 0.0)
    assert record.stamp.metric.startswith("judge:judge")
    assert seen[-1].usage.calls == len(judge.prompts) == 2, "equal answers are judged once"
    seen.clear()
    silent = Judge(ScriptedModel(["perhaps"]))
    options = {"model": Student(), "retriever": retriever(), "metric": silent}
    with pytest.raises(ModelError, match="neither right nor wrong"):
        gather(QUESTIONS[:2], **options, on_progress=seen.append)
    assert seen[-1].failed == 2


@both
def test_another_model_does_not_go_into_the_same_file(gather: Collect, tmp_path: Path):
    out = tmp_path / "r.jsonl"
    gather(QUESTIONS[:1], model=Student(), retriever=retriever(), out=out)
    other = ScriptedModel(["gold"], name="other")
    with pytest.raises(StampMismatch):
        gather(QUESTIONS, model=other, retriever=retriever(), out=out)
    assert not other.prompts


@both
def test_right_answers_that_are_sentences_are_scored_by_their_words(
    gather: Collect, caplog: pytest.LogCaptureFixture
):
    long = [replace(each, gold=(f"It is {each.gold[0]} as was said before",)) for each in QUESTIONS]
    records = gather(iter(long), model=Student(), retriever=retriever())
    assert {record.stamp.metric for record in records} == {"f1"}
    assert 0 < records[1].retrieved.score < 1
    assert caplog.text.count("7 words in the median") == 1
    named = gather(long, model=Student(), retriever=retriever(), metric="accuracy")
    assert {outcome.score for each in named for outcome in each.outcomes.values()} == {0.0}
    assert caplog.text.count("median") == 1


@both
def test_an_unknown_metric_is_refused_before_any_call(gather: Collect):
    model = Student()
    with pytest.raises(InputError, match="metric"):
        gather(QUESTIONS, model=model, retriever=retriever(), metric="bleu")
    assert not model.prompts


@both
def test_nothing_asked_is_nothing_recorded(gather: Collect):
    assert gather([], model=Student(), retriever=retriever()) == []


@both
def test_no_more_are_under_way_than_allowed(gather: Collect):
    class Counting(Student):
        under_way = most = 0

        def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
            with self._lock:
                self.under_way += 1
                self.most = max(self.most, self.under_way)
            time.sleep(0.005)
            with self._lock:
                self.under_way -= 1
            return super().generate(prompt)

    model = Counting()
    gather(QUESTIONS, model=model, retriever=retriever(), concurrency=2)
    assert model.most <= 2


class Hanging(Student):
    """Never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.over = threading.Event()

    def generate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        self.over.wait(60)
        raise ModelError("too late")

    async def agenerate(self, prompt: Prompt, *, on_token: object = None) -> Generation:
        await asyncio.sleep(60)
        raise ModelError("too late")


class Prepared(GraphAnswerer):
    """Has its answers at hand, whatever the deadline."""

    def answer_each(self, question: str, **_: object) -> dict[Action, Answer]:
        answer = Answer(question, "gold0", (), (), DECISIONS["direct"], (), "known", {})
        return {"direct": answer, "single": answer, "loop": answer}

    async def aanswer_each(self, question: str, **_: object) -> dict[Action, Answer]:
        return self.answer_each(question)


@both
def test_judges_and_routers_have_the_seconds_of_a_question(gather: Collect):
    hanging, seen = Hanging(), []
    settings = Settings(Student(), MappingRetriever({}), budget=Budget(deadline_s=0.1))
    work = collect if gather is blocking else lambda *a, **k: asyncio.run(acollect(*a, **k))
    given = {"on_progress": seen.append}
    with pytest.raises(ModelError, match="deadline"):
        work(QUESTIONS[:1], Prepared(settings), metric=Judge(hanging), **given)
    assert seen[-1].failed == 1
    routers = asking_routers(["prompt:can_answer"], hanging)
    [record] = work(QUESTIONS[:1], Prepared(settings), ask=routers, **given)
    assert record.statements == {}
    assert seen[-1].missed == 1
    assert "deadline" in seen[-1].last_failure
    hanging.over.set()
