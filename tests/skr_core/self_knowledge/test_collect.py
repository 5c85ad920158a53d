"""Collection asks each question once, keeps what it has, and goes on after failures and kills."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from skr_core.errors import InputError, ModelError, StampMismatch
from skr_core.prompts.templates import REFUSAL, answer_directly, answer_with_references
from skr_core.questions import Question
from skr_core.self_knowledge import Judge, Progress, SelfKnowledge, acollect, collect
from skr_core.self_knowledge.records import read_self_knowledge
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_core.types import Demonstration, Generation, Prompt, Reference

Collect = Callable[..., list[SelfKnowledge]]


def awaited(*arguments: object, **options: object) -> list[SelfKnowledge]:
    return asyncio.run(acollect(*arguments, **options))  # type: ignore[arg-type]


both = pytest.mark.parametrize("gather", [collect, awaited])

QUESTIONS = [Question(str(n), f"Question {n}?", (f"gold{n}",)) for n in range(6)]


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
        text = f"It is gold{number} [1]." if knows else "No idea."
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
    assert (first.stamp.corpus, first.stamp.metric) == ("toy", "contains")
    assert first.stamp.prompt_version
    assert first.extra["direct_logprob"] == -1.0
    assert first.extra["id"] == "0"
    assert first.extra["references"] == [Reference.of("about Question 0?").id]


@both
def test_asks_by_the_prompts_that_the_graph_serves(gather: Collect):
    model = Student()
    shown = [Demonstration("Capital?", "Paris.")]
    (record,) = gather(QUESTIONS[:1], model=model, retriever=retriever(), demonstrations=shown)
    reference = Reference.of("about Question 0?")
    assert model.prompts == [
        answer_directly("Question 0?", shown),
        answer_with_references("Question 0?", [reference], shown),
    ]
    plain = gather(QUESTIONS[:1], model=model, retriever=retriever())[0]
    assert record.stamp.prompt_version != plain.stamp.prompt_version


@both
def test_usage_and_refusals_are_kept(gather: Collect):
    model = ScriptedModel({"answer_directly": ["gold0"], "answer_with_references": [REFUSAL]})
    seen: list[Progress] = []
    (record,) = gather(QUESTIONS[:1], model=model, retriever=retriever(), on_progress=seen.append)
    assert record.extra["direct_refused"] is False
    assert record.extra["augmented_refused"] is True
    assert "direct_logprob" not in record.extra
    assert set(record.extra["usage"]) == {"answer_directly", "answer_with_references"}
    assert seen[-1].usage.calls == 2
    assert seen[-1].usage.total_tokens > 0


@both
def test_where_nothing_is_found_nothing_changes(gather: Collect):
    model = Student()
    (record,) = gather(QUESTIONS[:1], model=model, retriever=MappingRetriever({}))
    assert record.augmented_answer == record.direct_answer
    assert record.effect == "same"
    assert len(model.prompts) == 1


@both
def test_what_is_on_record_is_not_asked_again(gather: Collect, tmp_path: Path):
    out = tmp_path / "r.jsonl"
    first = gather(QUESTIONS[:4], model=Student(), retriever=retriever(), out=out)
    model, seen = Student(), []
    again = gather(QUESTIONS, model=model, retriever=retriever(), out=out, on_progress=seen.append)
    assert again[:4] == first
    assert {prompt.question for prompt in model.prompts} == {"Question 4?", "Question 5?"}
    assert (seen[0].reused, seen[0].done, seen[-1].done) == (4, 4, 6)
    assert sorted(each.question for each in read_self_knowledge(out)) == sorted(
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
    assert (
        gather(QUESTIONS, model=Student(), retriever=RudeRetriever(), on_progress=seen.append) == []
    )
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
    assert (seen[-1].total, seen[-1].unscored) == (1, 2)


@both
def test_a_judge_scores_and_its_silence_is_a_failure(gather: Collect):
    judge = ScriptedModel(["right", "wrong"], name="judge")
    (record,) = gather(QUESTIONS[:1], model=Student(), retriever=retriever(), metric=Judge(judge))
    assert (record.direct_score, record.augmented_score) == (1.0, 0.0)
    assert record.stamp.metric == "judge:judge"
    assert record.extra["usage"]["judge"]["calls"] == 2
    seen: list[Progress] = []
    silent = Judge(ScriptedModel(["perhaps"]))
    options = {"model": Student(), "retriever": retriever(), "metric": silent}
    assert gather(QUESTIONS[:2], **options, on_progress=seen.append) == []
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


KILLED = """
import os, sys, time
from pathlib import Path
from skr_core.questions import Question
from skr_core.self_knowledge import collect
from skr_core.testing import MappingRetriever
from skr_core.types import Generation

class Slow:
    name = "slow"
    def generate(self, prompt, *, on_token=None):
        with open(sys.argv[1], "a") as asked:
            asked.write(f"{prompt.task} {prompt.question}\\n")
        time.sleep(0.01)
        return Generation("gold")
    async def agenerate(self, prompt, *, on_token=None):
        return self.generate(prompt)

names = [f"q{n}?" for n in range(40)]
records = collect(
    [Question(name, name, ("gold",)) for name in names],
    model=Slow(), retriever=MappingRetriever({name: ["text"] for name in names}),
    out=sys.argv[2], concurrency=2,
)
print(len(records))
"""


def test_a_killed_collection_asks_nothing_twice_that_is_on_record(tmp_path: Path):
    asked, out = tmp_path / "asked.txt", tmp_path / "r.jsonl"
    command = [sys.executable, "-c", KILLED, str(asked), str(out)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, env=environment) as process:
        deadline = time.monotonic() + 60
        while not out.exists() or out.read_bytes().count(b"\n") < 8:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    recorded = {record.question for record in read_self_knowledge(out, skip_bad=True)}
    before = asked.read_text().splitlines()
    assert 8 <= len(recorded) < 40
    with out.open("ab") as file:
        file.write(b'{"question":"q39?","gold":["go')  # as a kill in the middle of a line leaves it

    finished = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert finished.stdout.strip() == "40"
    after = asked.read_text().splitlines()[len(before) :]
    assert not {line.split()[1] for line in after} & recorded
    # Only what was under way when the kill came is asked a second time.
    twice = {line for line, times in Counter(before + after).items() if times > 1}
    assert len({line.split()[1] for line in twice}) <= 2
    assert len(read_self_knowledge(out)) == 40
