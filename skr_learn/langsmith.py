"""What ``evaluate`` of LangSmith takes: any of our systems as a target, any metric as an evaluator.

LangSmith itself is not imported. A row of a dataset is read as `skr_core.read_questions` reads it:
``inputs`` hold the question and ``reference_outputs`` the right answers, by any usual name.

```python
evaluate(target(chain), data="my dataset", evaluators=[evaluator(), evaluator("f1")])
await aevaluate(atarget(chain), data="my dataset", evaluators=[evaluator()])
```
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from skr_core.flow import run
from skr_core.questions import Question, read_questions
from skr_core.settings import answerer_of
from skr_core.types import Answer, Reference
from skr_learn.scoring import AnyMetric, answer_of_text, as_scorer, score_each

Outputs = dict[str, Any]


def target(system: object) -> Callable[[Mapping[str, Any]], Outputs]:
    """Return a function from the inputs of an example to the outputs of a system.

    Args:
        system: The system: a chain, a graph, an engine, or a `GraphAnswerer`.

    Returns:
        The function. Its outputs are ``answer``, ``contexts`` (the texts of the references),
        ``retrieved``, ``stop_reason``, ``calls`` and ``total_tokens``.

    Raises:
        InputError: The system is none that can be asked.

    Example:
        >>> from skr_core import Settings
        >>> from skr_core.routers import NeverRetrieve
        >>> from skr_core.testing import ScriptedModel
        >>> from skr_graphs import GraphAnswerer
        >>> settings = Settings.of(ScriptedModel(["Ada."]), router=NeverRetrieve())
        >>> target(GraphAnswerer(settings))({"question": "Who?"})["answer"]
        'Ada.'
    """
    answerer = answerer_of(system)
    return lambda inputs: _outputs(answerer.answer(_question(inputs).asked))


def atarget(system: object) -> Callable[[Mapping[str, Any]], Awaitable[Outputs]]:
    """Async version of `target`, for LangSmith's ``aevaluate``."""
    answerer = answerer_of(system)

    async def ask(inputs: Mapping[str, Any]) -> Outputs:
        return _outputs(await answerer.aanswer(_question(inputs).asked))

    return ask


def evaluator(metric: AnyMetric = "accuracy") -> Callable[..., Outputs]:
    """Return an evaluator of what `target` returns, which ``aevaluate`` calls in a thread.

    Args:
        metric: The metric, as `skr_learn.collect` takes it.

    Raises:
        InputError: It is none.

    Example:
        >>> evaluator("exact_match")({"question": "Who?"}, {"answer": "Ada"}, {"answer": "Ada"})
        {'key': 'exact_match', 'score': 1.0}
    """
    scorer = as_scorer(metric)

    def evaluate(
        inputs: Mapping[str, Any], outputs: Mapping[str, Any], reference_outputs: Mapping[str, Any]
    ) -> Outputs:
        question = _question(inputs, reference_outputs)
        answer = replace(
            answer_of_text(question.asked, str(outputs.get("answer", outputs.get("output", "")))),
            references=tuple(map(Reference.of, outputs.get("contexts", ()))),
        )
        scores, _ = run(score_each(scorer, {"direct": answer}, question))
        return {"key": scorer.name, "score": scores["direct"]}

    return evaluate


def _question(inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None = None) -> Question:
    (question,) = read_questions([{"inputs": inputs, "reference_outputs": outputs or None}])
    return question


def _outputs(answer: Answer) -> Outputs:
    usage = answer.total_usage
    return {
        "answer": answer.text,
        "contexts": [each.text for each in answer.references],
        "retrieved": answer.decision.retrieve,
        "stop_reason": answer.stop_reason,
        "calls": usage.calls,
        "total_tokens": usage.total_tokens,
    }
