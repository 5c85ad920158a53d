"""What `skr collect` shows: how far it is, and what the records say."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from skr_app.output import console, counted, escape, messages, print_table
from skr_core.types import ACTIONS
from skr_learn.metrics.statistics import bootstrap
from skr_learn.self_knowledge import Progress, SelfKnowledge

if TYPE_CHECKING:
    from skr_core.types import Effect

ACTION_WORDS = {
    "direct": "without retrieval",
    "single": "one round",
    "loop": "until it suffices",
}


def summary(records: Sequence[SelfKnowledge], progress: Progress) -> dict[str, Any]:
    """The records as they go out: accuracies of the constant policies, and what was spent."""
    effects: dict[Effect, int] = {"helps": 0, "hurts": 0, "same": 0}
    for record in records:
        effects[record.effect] += 1
    n = max(1, len(records))
    right = {
        action: bootstrap([record.outcomes[action].score for record in records])
        for action in ACTIONS
    }
    best = bootstrap(
        [max(outcome.score for outcome in record.outcomes.values()) for record in records]
    )
    return {
        "n": len(records),
        "accuracy": {action: each.mean for action, each in right.items()},
        "accuracy_ci": {action: [each.low, each.high] for action, each in right.items()},
        "best_of_all": best.mean,
        "best_of_all_ci": [best.low, best.high],
        "retrievals": {
            action: sum(record.outcomes[action].retrievals or 0.0 for record in records) / n
            for action in ACTIONS
        },
        "prompt_tokens": {
            action: sum(
                usage.prompt_tokens
                for record in records
                if (usage := record.outcomes[action].usage)
            )
            / n
            for action in ACTIONS
        },
        "effects": effects,
        "all_wrong": sum(record.all_wrong for record in records),
        "statements": sorted({name for record in records for name in record.statements}),
        "reused": progress.reused,
        "failed": progress.failed,
        "missed": progress.missed,
        "unscored": progress.unscored,
        "usage": progress.usage,
    }


def print_summary(found: dict[str, Any], progress: Progress, out: Path) -> None:
    """Print what `summary` found, and what to do next."""
    rows = [
        [
            f"{action} ({ACTION_WORDS[action]})",
            _accuracy(found["accuracy"][action], found["accuracy_ci"][action]),
            f"{found['retrievals'][action]:.2f}",
            f"{found['prompt_tokens'][action]:,.0f}",
        ]
        for action in ACTIONS
    ]
    best = _accuracy(found["best_of_all"], found["best_of_all_ci"])
    rows.append(["the best of them for each question", best, "", ""])
    print_table(["action", "accuracy", "retrievals", "prompt tokens"], rows)
    effects = found["effects"]
    console.print(
        f"Retrieval helps {counted(effects['helps'], 'question')} and hurts {effects['hurts']}; "
        f"no answer is right on {found['all_wrong']}."
    )
    console.print(f"{counted(found['n'], 'record')} in {escape(str(out))} ({_spent(progress)})")
    console.print(
        f"Does routing pay on them?  skr calibrate {escape(shlex.quote(str(out)))}", soft_wrap=True
    )
    if progress.unscored:
        console.print(f"{progress.unscored} questions have no right answer to compare with")
    for count, what in ((progress.failed, "failed"), (progress.missed, "lack a statement")):
        if count:
            messages.print(
                f"[yellow]{count} questions {what}[/yellow]; run it again to ask them again. "
                f"The last: {escape(progress.last_failure)}"
            )


def _accuracy(mean: float, interval: Sequence[float]) -> str:
    low, high = interval
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


def _spent(progress: Progress) -> str:
    usage = progress.usage
    about = " (estimated)" if usage.estimated else ""
    cached = f", {usage.cached_calls:,} replies from the cache" if usage.cached_calls else ""
    return f"{usage.calls:,} calls, {usage.total_tokens:,} tokens{about}{cached}"


@contextmanager
def bar() -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error with the rate and what has been spent."""
    columns = (
        TextColumn("Collecting"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[spent]}"),
    )
    with Bars(*columns, console=messages) as bars:
        task = bars.add_task("", total=None, rate="", spent="")

        def show(progress: Progress) -> None:
            seconds = bars.tasks[task].elapsed or 0.0
            asked = progress.done - progress.reused
            bars.update(
                task,
                completed=progress.done,
                total=progress.total,
                rate=f"{asked / seconds:.1f}/s" if seconds > 0 else "",
                spent=_spent(progress),
            )

        yield show
