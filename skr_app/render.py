"""Answers and events for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from skr_app.extractive.loading import is_extractive
from skr_app.output import counted, escape
from skr_core.cleaning import cleaned
from skr_core.plain import from_plain
from skr_core.types import Action, Answer, Decision, Usage

STOP_REASONS = {
    "known": "the model knows this without references",
    "sufficient": "the references suffice",
    "uncited": "the model finds the references sufficient, but cites none",
    "no_new_queries": "the model had no further query",
    "no_new_references": "searching found nothing new",
    "not_worth_it": "another round is not expected to be worth its price",
    "max_rounds": "the rounds are used up",
    "max_calls": "the calls are used up",
    "max_tokens": "the tokens are used up",
    "max_spend": "the money is used up",
    "deadline": "the time is used up",
    "retriever_failed": "the retriever failed",
    "model_failed": "the model failed, this is its best draft",
}
DECIDED: dict[Action, str] = {
    "direct": "Known",
    "single": "Retrieve once",
    "loop": "Retrieve",
}
SERVED: dict[Action, str] = {
    "direct": "The model's own answer",
    "single": "The answer of one round",
    "loop": "The answer of the loop",
}
BASELINE = (
    "The extractive model is a baseline: it quotes sentences and knows no language. "
    "Give --model for a real one."
)
EXCERPT = 160
"""Characters of a source that are shown."""


def answer(console: Console, answer: Answer, model: str, *, answered: bool = False) -> None:
    """Show an answer: how it came about, the text, its sources and its cost.

    Args:
        console: Where to.
        answer: What to show.
        model: The model's id as given.
        answered: Leave out what a stream has shown already.
    """
    if not answered:
        _rounds(console, answer)
        console.print(
            Panel(Text(cleaned(answer.text) or "(no answer)"), title="Answer", title_align="left")
        )
    _sources(console, answer)
    if answer.decision.retrieve and not answer.grounded:
        console.print("[yellow]Not supported by the references.[/yellow]")
    if answer.verdict:
        console.print(f"[dim]Served: {escape(answer.verdict.reason)}[/dim]")
    usage = answer.total_usage
    rounds = counted(len(answer.rounds), "round")
    console.print(
        f"[dim]Stopped: {STOP_REASONS[answer.stop_reason]} · {rounds} · {spent(usage)}[/dim]"
    )
    if is_extractive(model):
        console.print(f"[dim]{BASELINE}[/dim]")


def event(console: Console, event: dict[str, Any]) -> None:
    """Show one event of the graph."""
    kind = event["type"]
    if kind == "route":
        _decision(console, from_plain(Decision, event["decision"]))
    elif kind == "query":
        console.print(f"[cyan]search {event['round']}[/cyan] {escape(event['query'])}")
    elif kind == "references":
        console.print(f"  {len(event['added'])} new references, {event['total']} in hand")
    elif kind == "reflection":
        console.print(f"  {escape(event['reflection']['reason'])}")
    elif kind == "token":
        console.print(Text(cleaned(event["text"])), end="")
    elif kind == "retract":
        console.print("\n  [dim]not the answer: it refuses after all[/dim]")
    elif kind == "answer":
        console.print()


def spent(usage: Usage) -> str:
    """Calls and tokens in words.

    Example:
        >>> spent(Usage(prompt_tokens=1_900, completion_tokens=100, calls=1, estimated=True))
        '1 call · 2,000 tokens (estimated)'
    """
    about = " (estimated)" if usage.estimated else ""
    cached = f" · {usage.cached_calls} from a cache" if usage.cached_calls else ""
    return f"{counted(usage.calls, 'call')} · {usage.total_tokens:,} tokens{about}{cached}"


def _rounds(console: Console, answer: Answer) -> None:
    _decision(console, answer.decision)
    for number, each in enumerate(answer.rounds, start=1):
        for query in each.queries:
            console.print(f"[cyan]search {number}[/cyan] {escape(query)}")
        for error in each.errors:
            console.print(f"  [red]failed[/red] {escape(error)}")
        verdict = f" · {escape(each.reflection.reason)}" if each.reflection else ""
        console.print(f"  {len(each.found)} new references{verdict}")


def _decision(console: Console, decision: Decision) -> None:
    console.print(f"[bold]{DECIDED[decision.action]}[/bold]: {escape(decision.reason)}")


def _sources(console: Console, answer: Answer) -> None:
    cited = {citation.reference_id for citation in answer.citations}
    if not cited:
        return
    table = Table(box=None, show_header=False, padding=(0, 1))
    for number, each in enumerate(answer.references, start=1):
        if each.id in cited:
            excerpt = " ".join(each.text.split())
            excerpt = excerpt if len(excerpt) <= EXCERPT else excerpt[:EXCERPT].rstrip() + " …"
            text = f"[bold]{escape(each.title)}[/bold] {escape(excerpt)}"
            table.add_row(f"[bold]\\[{number}][/bold]", text)
    console.print(table)
