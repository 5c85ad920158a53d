"""How well a model knows what it knows, asked in W2R's seven ways (Tables 2, 3, 6 and 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from skr_core.errors import InputError, ModelError
from skr_core.flow import Flow
from skr_core.ports import LanguageModel
from skr_core.prompts.routing import ROUTING_VERSION, STRATEGIES, Strategy
from skr_core.questions import Question
from skr_core.routers.confidence import assessment
from skr_core.types import Answer, Decision
from skr_lab.experiment import Asking, Bench, Found, Names
from skr_lab.metrics import CERTAINTY_MEASURES, certainty_values
from skr_lab.opening import Result, Row, compare, row_of
from skr_learn.evaluate import Judged, System

TITLE = "does the model know what it knows? (W2R Tables 2, 3, 6 and 7)"
MEASURES = (*CERTAINTY_MEASURES, "calls", "prompt_tokens", "completion_tokens", "usd")
RETRIEVAL = ("static", "adaptive")
"""Accuracies of recorded answers: always with retrieval, and where the model is uncertain."""
ALL = "all"
"""The row of all models together."""


class Certainty(Asking):
    """Does the model know what it knows? Asked in several ways, it says how certain it is."""

    name: ClassVar[str] = "certainty"
    reproduces: ClassVar[str] = "W2R Tables 2, 3, 6 and 7"

    strategies: Names = ("all",)
    """The ways of asking, such as vanilla,punish_explain."""

    async def run(self, bench: Bench) -> Found:
        """Ask every question in every way."""
        asked, chosen = self.read_answered(), read_strategies(self.strategies)
        model = self.language_model
        bench.open_folder(command=self.name, model=model.name, prompts=ROUTING_VERSION)
        systems = [strategy_system(model, strategy) for strategy in chosen]
        _, judged = await self.ask(bench, systems, asked, may_fail=True)
        measured = {name: with_certainty(each) for name, each in judged.items()}
        settings = {"questions": f"{self.questions.name} ({len(asked)})", "model": model.name}
        result = certainty_result(measured, settings)
        return Found(result, measured, figures(result))


def figures(result: Result) -> dict[str, Any]:
    """The means by their names, for each group; of all, where that is one row."""
    groups = {row.name: _means(row) for row in result.rows}
    overall = groups.get(ALL) or (groups[result.rows[0].name] if len(groups) == 1 else {})
    return {**overall, "groups": groups}


def read_strategies(names: Sequence[str]) -> list[Strategy]:
    """The ways of asking by their names, each once; ``all`` names every one.

    Raises:
        InputError: A name is none of them, or there is none.

    Example:
        >>> read_strategies(["vanilla", "punish+explain"])
        ['vanilla', 'punish_explain']
    """
    wanted = [name.strip().lower().replace("+", "_").replace("-", "_") for name in names]
    if wanted == ["all"]:
        return list(STRATEGIES)
    known = {name: name for name in STRATEGIES} | {"step_by_step": STRATEGIES[3]}
    if unknown := [name for name in wanted if name and name not in known]:
        raise InputError(f"no strategy {unknown[0]!r}: give some of {', '.join(STRATEGIES)}")
    chosen = list(dict.fromkeys(known[name] for name in wanted if name))
    if not chosen:
        raise InputError(f"no strategy is named: give some of {', '.join(STRATEGIES)}")
    return chosen


def strategy_system(model: LanguageModel, strategy: Strategy) -> System:
    """A system that answers without references and says how certain it is.

    Args:
        model: The model that is asked.
        strategy: The way of asking.
    """
    return System(strategy, lambda question: stated_answer(model, question, strategy))


def stated_answer(model: LanguageModel, question: Question, strategy: Strategy) -> Flow[Answer]:
    """Ask for an answer with its certainty, which is in the decision: uncertain is to retrieve.

    What a reply lacks is asked for once more (W2R §3.1). A model that is uncertain and still names
    no answer has given a wrong one.

    Args:
        model: The model that is asked.
        question: The question.
        strategy: The way of asking.

    Raises:
        ModelError: The model states no certainty, or is certain of no answer.

    Example:
        >>> from skr_core.flow import run
        >>> from skr_core.testing import ScriptedModel
        >>> moon = Question("1", "When was the last time anyone was on the moon?", ("1972",))
        >>> answer = run(stated_answer(ScriptedModel(["1972. Certain."]), moon, "vanilla"))
        >>> answer.text, is_certain(answer)
        ('1972', True)
    """
    found = yield from assessment(model, question.asked, strategy)
    said = " ".join(found.said.split())[:80]
    if found.certain is None:
        raise ModelError(f"the model states no certainty, asked twice: {said!r}")
    if found.answer is None and found.certain:
        raise ModelError(f"the model is certain and gives no answer, asked twice: {said!r}")
    return Answer(
        question=question.asked,
        text=found.answer or "",
        citations=(),
        references=(),
        decision=Decision(not found.certain, reason=said, draft=found.answer or ""),
        rounds=(),
        stop_reason="known",
        usage={"ask_certainty": found.usage},
    )


def is_certain(answer: Answer) -> bool:
    """Whether the model was certain of an answer of `stated_answer`."""
    return not answer.decision.retrieve


def with_certainty(judged: Sequence[Judged]) -> list[Judged]:
    """Judged answers of `stated_answer` with W2R's measures beside the others.

    Example:
        >>> failed = Judged(Question("1", "Who?", ("Ada",)), None, {"answer_accuracy": None})
        >>> with_certainty([failed])[0].values["alignment"] is None
        True
    """
    return [replace(each, values={**each.values, **_values(each)}) for each in judged]


def certainty_result(
    judged: Mapping[str, Sequence[Judged]],
    settings: Mapping[str, str],
    notes: Sequence[str] = (),
) -> Result:
    """The table: each way of asking, and each beside the first.

    Args:
        judged: The answers of `with_certainty`, by the name of a way of asking.
        settings: Shown above the table.
        notes: Shown below it.
    """
    first, *others = judged
    return Result(
        "certainty",
        TITLE,
        settings,
        rows=tuple(row_of(name, each, MEASURES) for name, each in judged.items()),
        comparisons=tuple(
            compare(name, judged[name], first, judged[first], MEASURES) for name in others
        ),
        plotted=("alignment", "accuracy", "overconfidence", "conservativeness", "unc_rate"),
        notes=tuple(notes),
    )


def _values(judged: Judged) -> dict[str, float | None]:
    right = judged.values["answer_accuracy"]
    if judged.answer is None or right is None:
        return dict.fromkeys(CERTAINTY_MEASURES)
    return {**certainty_values(is_certain(judged.answer), bool(right))}


def _means(row: Row) -> Mapping[str, Any]:
    cells = {name: cell.mean for name, cell in row.cells.items() if cell.n}
    judged = row.cells[CERTAINTY_MEASURES[0]]
    known = dict.fromkeys((*CERTAINTY_MEASURES, *RETRIEVAL)) | cells
    return {"n": judged.n, "n_failed": judged.n_failed, **known}
