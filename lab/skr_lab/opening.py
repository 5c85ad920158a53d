"""All that the lab takes from the application skr-rag: opening, asking, tables and printing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

from skr_app import opening, report
from skr_app.extractive import THRESHOLD as LEXICAL_THRESHOLD
from skr_app.extractive import ExtractiveModel, LexicalEntailment, content_words
from skr_app.main import run as run_command
from skr_app.models import NO_LIMITS, Limits, Models
from skr_app.opening import (
    add_all,
    collect_references,
    digest_of,
    load_questions,
    open_router,
    open_searched,
    router_stamp,
)
from skr_app.output import console, escape, messages, print_json, print_table, progress
from skr_app.report import (
    Comparison,
    Result,
    Row,
    RunFolder,
    compare,
    read_section,
    report_page,
    show_result,
)
from skr_core.budget import Price
from skr_core.errors import DataError, InputError
from skr_core.ports import Embedder, EntailmentModel, LanguageModel, Reflector
from skr_core.prompts.papers import RALLM_TEMPLATES, SKR_TEMPLATES, W2R_TEMPLATES
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.questions import Question, read_questions
from skr_core.reflectors import EntailmentReflector
from skr_core.types import Demonstration
from skr_lab.encoders import PooledEmbedder
from skr_lab.entailment import T5Entailment
from skr_lab.metrics import F1_OF_MEANS, key_fact_f1_of_means
from skr_learn.evaluate import Answers, Judged, Measure, System

__all__ = [
    "LEXICAL_THRESHOLD",
    "Comparison",
    "ExtractiveModel",
    "LexicalEntailment",
    "Result",
    "Row",
    "RunFolder",
    "add_all",
    "ask_and_judge",
    "collect_references",
    "compare",
    "console",
    "content_words",
    "digest_of",
    "escape",
    "load_questions",
    "make_entailment",
    "make_model",
    "messages",
    "named_embedder",
    "open_embedder",
    "open_reflector",
    "open_router",
    "open_searched",
    "print_json",
    "print_table",
    "progress",
    "read_demonstrations",
    "read_section",
    "read_templates",
    "report_page",
    "router_stamp",
    "row_of",
    "run_command",
    "show_result",
    "within_limits",
]


def row_of(name: str, judged: Sequence[Judged], measures: Sequence[str] | None = None) -> Row:
    """The means of a condition, and the F1 of RaLLM's tables where its questions have key-facts.

    Args:
        name: The name of the condition.
        judged: Its answers.
        measures: Names of measures; None takes all.
    """
    row = report.row_of(name, judged, measures)
    f1 = key_fact_f1_of_means(judged) if "key_fact_f1" in row.cells else None
    return row if f1 is None else replace(row, cells={**row.cells, F1_OF_MEANS: f1})


@contextmanager
def within_limits(
    deadline: float | None, max_spend: float | None, prices: Path | None
) -> Iterator[None]:
    """Keep every model that is made and every question that is asked meanwhile to these limits.

    Args:
        deadline: Seconds for a question.
        max_spend: US dollars for all models together.
        prices: A file with the prices of models.

    Raises:
        InputError: Money is limited without prices.
    """
    if max_spend is not None and prices is None:
        raise InputError("max_spend needs prices: a file with the prices of your models")
    token = _LIMITS.set(Limits.of(deadline, max_spend, prices))
    try:
        yield
    finally:
        _LIMITS.reset(token)


_LIMITS: ContextVar[Limits] = ContextVar("skr_lab_limits", default=NO_LIMITS)
"""The limits that what is made and asked meanwhile keeps to."""


def make_model(model: str, base_url: str | None = None) -> LanguageModel:
    """Make the model of a name, within the limits."""
    return Models(base_url, _LIMITS.get()).model(model)


def make_entailment(name: str, base_url: str | None = None) -> EntailmentModel:
    """Make a judge of entailment by its name, within the limits.

    Args:
        name: One of ``lexical``, ``nli:NAME``, ``true:NAME`` and ``judge:MODEL``.
        base_url: The address of a judge's server.

    Raises:
        InputError: There is no such judge.
    """
    kind, _, rest = name.partition(":")
    if kind == "true" and rest:
        return T5Entailment(rest)
    return Models(base_url, _LIMITS.get()).entailment(name)


TEMPLATES = {
    "default": DEFAULT_TEMPLATES,
    "rallm": RALLM_TEMPLATES,
    "skr": SKR_TEMPLATES,
    "w2r": W2R_TEMPLATES,
}
"""The words of the prompts that the papers publish, by the name that a field takes."""


def read_templates(templates: str | None) -> PromptTemplates:
    """The words of the prompts that a field names: those of a paper, or a JSON file of them.

    Raises:
        InputError: There is no such set or file, or a template lacks a placeholder.
        DataError: The file is not JSON, or not of templates.
    """
    if templates in TEMPLATES:
        return TEMPLATES[templates]
    if templates is not None and not Path(templates).is_file():
        raise InputError(f"templates={templates}: give {', '.join(TEMPLATES)}, or a JSON file")
    return opening.read_templates(None if templates is None else Path(templates))


def read_demonstrations(path: Path | None) -> tuple[Demonstration, ...]:
    """Worked examples of a JSONL file: ``question``, ``answer``, and ``contexts`` where given.

    Raises:
        InputError: There is no such file.
        DataError: A line is broken, or none has an answer.
    """
    if path is None:
        return ()
    rows = [each for each in read_questions(path) if each.gold]
    if not rows:
        raise DataError(path, None, "there is no question with an answer in this file")
    return tuple(
        Demonstration(each.asked, each.gold[0], tuple(part.text for part in each.contexts))
        for each in rows
    )


def named_embedder(name: str) -> str | Embedder:
    """The embedder ``pooled:NAME``, SimCSE or DPR as published; any other name as it is."""
    kind, _, rest = name.partition(":")
    return PooledEmbedder(rest) if kind == "pooled" and rest else name


def open_embedder(name: str) -> Embedder:
    """Make an embedder by its name.

    Args:
        name: ``hashing``, ``pooled:NAME``, or a sentence-transformers model by name or folder.
    """
    named = named_embedder(name)
    return opening.open_embedder(named) if isinstance(named, str) else named


def open_reflector(name: str, model: LanguageModel, *, base_url: str | None = None) -> Reflector:
    """Make a reflector by its name, within the limits.

    Args:
        name: One of ``refusal``, ``judge``, ``judge:MODEL``, ``entailment:JUDGE`` with a judge of
            `make_entailment`, and ``learned:FILE``.
        model: The model that judges where the name holds no other.
        base_url: The address of the server of a judge that is named.

    Raises:
        InputError: There is no such reflector.
    """
    kind, _, rest = name.partition(":")
    if kind == "entailment" and rest:
        return EntailmentReflector(make_entailment(rest, base_url))
    return Models(base_url, _LIMITS.get()).reflector(name, model)


async def ask_and_judge(
    systems: Sequence[System],
    questions: Sequence[Question],
    folder: RunFolder,
    *,
    price: Price | None = None,
    measure: Measure | None = None,
    concurrency: int = 8,
    may_fail: bool = False,
) -> tuple[dict[str, Answers], dict[str, list[Judged]]]:
    """Ask every system every question within the limits; see `skr_app.report.ask_and_judge`."""
    return await report.ask_and_judge(
        systems,
        questions,
        folder,
        price=price,
        measure=measure,
        concurrency=concurrency,
        limits=_LIMITS.get(),
        may_fail=may_fail,
    )
