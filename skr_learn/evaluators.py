"""One's own metric, and the evaluators of other libraries, as metrics of collected answers.

They are known by their shape, so none of the libraries is imported:

| shape | whose |
|---|---|
| ``evaluate`` and ``aevaluate`` | an evaluator of LlamaIndex |
| ``evaluate_strings`` | a string evaluator of LangChain |
| a function with an argument ``outputs`` | an evaluator of openevals |
| another function, of an `Answer` and its `Question` | one's own metric |

Where a question has several right answers, an evaluator is shown them with "or" between.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol, TypeGuard

from skr_core.errors import InputError, ModelError, translated
from skr_core.flow import Flow, call
from skr_core.questions import Question
from skr_core.types import NO_USAGE, Answer, Usage

Measure = Callable[[Answer, Question], Any]


class Evaluator(Protocol):
    """An evaluator of LlamaIndex."""

    def evaluate(self, query: Any = None, response: Any = None, contexts: Any = None) -> Any:
        """Evaluate a response."""


class StringEvaluator(Protocol):
    """A string evaluator of LangChain."""

    def evaluate_strings(self, *, prediction: str) -> Any:
        """Evaluate a prediction."""


class OwnMetric:
    """A metric by a function of an answer and its question.

    Args:
        name: The name for the stamp of the records.
        measure: The function. Async runs call it in a thread, and await what is to be awaited.
        ameasure: The function for async runs, where it is another.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.types import Decision
        >>> answer = Answer("Who?", "Ada", (), (), Decision(False), (), "known", {})
        >>> short = OwnMetric("short", lambda answer, question: len(answer.text) < 10)
        >>> run(short.score(answer, Question("1", "Who?", ("Ada",))))[0]
        1.0
    """

    def __init__(self, name: str, measure: Measure, ameasure: Measure | None = None) -> None:
        self.name = name
        self._given, self._agiven = measure, ameasure

    def score(self, answer: Answer, question: Question) -> Flow[tuple[float, Usage]]:
        """Measure an answer.

        Args:
            answer: The answer.
            question: The question with its right answers.

        Returns:
            The score, 0 to 1, and no usage: what others' functions spend is not known.

        Raises:
            InputError: The score is no number from 0 to 1, or an async function is called by a
                sync run.
            ModelError: The function failed, or gave no score.
        """
        with translated(ModelError, f"the metric {self.name}"):
            result = yield from call(self._measure, self._ameasure, answer, question)
        found = _score_in(result)
        if found is None:
            raise ModelError(f"the metric {self.name} gave no score")
        score = float(found) if hasattr(found, "__float__") else math.nan
        if not 0 <= score <= 1:
            raise InputError(
                f"the metric {self.name} gave {found!r:.60}: a number from 0 to 1 is wanted, or "
                "True or False"
            )
        return score, NO_USAGE

    def _measure(self, answer: Answer, question: Question) -> Any:
        found = self._given(answer, question)
        if inspect.isawaitable(found):
            if inspect.iscoroutine(found):
                found.close()
            raise InputError(f"the metric {self.name} is async: use acollect or arescore")
        return found

    async def _ameasure(self, answer: Answer, question: Question) -> Any:
        if self._agiven is not None:
            return await self._agiven(answer, question)
        found = await asyncio.to_thread(self._given, answer, question)
        return await found if inspect.isawaitable(found) else found


def own_metric(given: Any) -> OwnMetric:
    """Make a metric of a function or an evaluator, see the table above.

    Raises:
        InputError: It has none of the shapes.

    Example:
        >>> def right(answer, question):
        ...     return answer.text in question.gold
        >>> own_metric(right).name
        'right'
    """
    name = type(given).__name__
    if isinstance(given, type):
        raise InputError(f"the metric is the class {given.__name__}: give {given.__name__}(...)")
    if hasattr(given, "evaluate_strings"):
        # It warns of what it is given and does not read.
        names = ["prediction"]
        names += ["input"] if getattr(given, "requires_input", True) else []
        names += ["reference"] if getattr(given, "requires_reference", True) else []
        asked = getattr(given, "aevaluate_strings", None)
        return OwnMetric(name, _by(given.evaluate_strings, names), asked and _by(asked, names))
    if hasattr(given, "evaluate") and hasattr(given, "aevaluate"):
        names = ["query", "response", "contexts", "reference"]
        return OwnMetric(name, _by(given.evaluate, names), _by(given.aevaluate, names))
    if not callable(given):
        raise InputError(
            f"{name} is no metric: give a name, a Judge, a function of an answer and its question, "
            "or an evaluator of LlamaIndex, LangChain or openevals"
        )
    named = given.func if isinstance(given, partial) else given
    name = getattr(named, "__qualname__", name).replace(".<locals>", "")
    parameters = _parameters(given)
    if "outputs" not in parameters:
        return OwnMetric(name, given)
    names = ["inputs", "outputs", "reference_outputs"]
    if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        names = [each for each in names if each in parameters]
    return OwnMetric(name, _by(given, names))


def is_maker(given: object) -> TypeGuard[Callable[[], Any]]:
    """Whether it is a function without arguments, which makes what is wanted where it is needed.

    Example:
        >>> is_maker(lambda: 1), is_maker(len), is_maker(dict)
        (True, False, False)
    """
    if not callable(given) or isinstance(given, type) or "outputs" in _parameters(given):
        return False
    try:
        inspect.signature(given).bind()
    except (TypeError, ValueError):
        return False
    return True


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """A function's parameters by name; none where Python cannot tell."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _by(evaluate: Callable[..., Any], names: Iterable[str]) -> Measure:
    """An evaluator as a function of an answer and its question, called with keywords."""

    def measure(answer: Answer, question: Question) -> Any:
        asked, said, gold = question.asked, answer.text, " or ".join(question.gold)
        known: dict[str, Any] = {
            **{"query": asked, "input": asked, "inputs": asked},
            **{"response": said, "prediction": said, "outputs": said},
            **{"reference": gold, "reference_outputs": gold},
            "contexts": [each.text for each in answer.references],
        }
        return evaluate(**{name: known[name] for name in names})

    return measure


def _score_in(result: Any) -> Any:
    """The score in what a function or an evaluator returned; of several their mean.

    LlamaIndex's ``passing`` goes before its ``score``, which may be a grade from 1 to 5.
    """
    if hasattr(result, "__float__"):
        return result
    if isinstance(result, list):
        scores = [_score_in(each) for each in result]
        return None if None in scores or not scores else sum(scores) / len(scores)
    if isinstance(result, Mapping):
        return result.get("score")
    passing = getattr(result, "passing", None)
    return getattr(result, "score", result) if passing is None else passing
