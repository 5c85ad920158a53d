"""The page of the benchmarks says what was measured; what is measured is no test."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from statistics import mean
from threading import Event

import pytest

from benchmarks import __main__ as command
from benchmarks import agents, cost, made, multihop, page, worlds
from benchmarks.rows import LAB, ROOT, LeftOut, Row, growth, medians, needed, telling
from benchmarks.stand_in import StandIn
from skr_core import Reference
from skr_core.prompts.asking import answer_with_references

SIZES = [Row("adding", 2.0 * n, "s", "plain", 1.0 * n * n, n, "passages") for n in (1, 2, 4, 8)]


def test_growth_is_the_slope_of_the_logarithms() -> None:
    assert growth([1, 2, 4, 8], [3, 12, 48, 192]) == pytest.approx(2)


def test_a_table_has_ratios_and_what_four_sizes_show_of_growth() -> None:
    lines = list(page.table([asdict(row) for row in SIZES]))
    assert "| adding | 4 passages | 8 s | 16 s | plain | **0.50** |" in lines
    assert lines[-1] == "| adding | 1.00 | 2.00 | plain |"
    few = list(page.table([asdict(row) for row in SIZES[:3]]))
    assert not any("power" in line for line in few)


def test_ways_take_turns_and_warm_up_first() -> None:
    asked: list[str] = []
    found = medians({"one": lambda: asked.append("one"), "two": lambda: asked.append("two")}, 2)
    assert asked == ["two", "one", "one", "two", "two", "one"]
    assert set(found) == {"one", "two"}


def test_a_part_without_its_data_is_left_out_in_words() -> None:
    with pytest.raises(LeftOut, match=r"no .*nowhere\.jsonl.*set SKR_DATA"):
        needed("nowhere.jsonl")


@pytest.mark.parametrize("name", command.PARTS)
def test_each_part_says_what_it_measures(name: str) -> None:
    tree = ast.parse((LAB / "benchmarks" / f"{name}.py").read_text(encoding="utf-8"))
    title, _, text = (ast.get_docstring(tree) or "").partition("\n\n")
    assert title.endswith(".")
    assert text
    assert any(isinstance(node, ast.FunctionDef) and node.name == "rows" for node in tree.body)


def test_what_answers_cost_is_told_for_each_question_and_struck_where_it_is_wrong() -> None:
    costs = {"easy": cost.Cost(True, 1, 10), "two hops": cost.Cost(False, 1, 1_000)}
    row = cost.Way("one", {kind: vars(each) for kind, each in costs.items()})
    head, _, told = page.table([asdict(row)])
    assert head == "| calls · prompt tokens | easy | two hops |"
    assert told == "| one | 1 · 10 | ~~1 · 1,000~~ |"


def test_one_table_names_every_part() -> None:
    told = (LAB / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", told, re.MULTILINE) == [*command.PARTS]
    modules = {path.stem for path in (LAB / "benchmarks").glob("*.py")} - set(command.PARTS)
    alone = {"results", "worlds", "confirming", "drafts", "refusals", "alarms"}
    assert all(f"python -m benchmarks.{name}" in told for name in alone)
    unnamed = {name for name in modules - alone if f"`{name}.py`" not in told}
    assert unnamed == {"__init__", "__main__"}


class Terminal(StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.told_again = Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.getvalue().count("loop: 1 figure,") == 2:
            self.told_again.set()
        return written


def test_a_terminal_is_told_anew_while_the_next_figure_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("benchmarks.rows.EVERY_S", 0.01)
    terminal = Terminal()

    def slowly() -> Iterator[str]:
        yield "first"
        assert terminal.told_again.wait(timeout=60)
        yield "second"

    assert list(telling("loop", slowly(), terminal)) == ["first", "second"]
    assert "\r\033[Kloop: 2 figures, " in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\033[K")


def test_a_part_that_fails_leaves_nothing_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = tmp_path / "benchmarks.json"
    part = {"measured": "today", "load": 0.5, "rows": [asdict(row) for row in SIZES]}
    written.write_text(json.dumps({"parts": {"loop": part, "start": part}}))
    monkeypatch.setattr(command, "MEASURED", written)
    outcomes = {"loop": (None, 1), "store": (part, 0)}
    monkeypatch.setattr(command, "measure", lambda name, *, quick: outcomes[name])
    monkeypatch.setattr("sys.argv", ["benchmarks", "loop", "store"])
    assert command.main() == 1
    known = json.loads(written.read_text())
    assert list(known["parts"]) == ["store", "start"]
    assert written.with_suffix(".md").read_text() == page.page(known)


def test_the_page_says_what_was_measured() -> None:
    known = json.loads((LAB / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
    assert (LAB / "docs" / "benchmarks.md").read_text(encoding="utf-8") == page.page(known)


def test_what_extras_weigh_is_told_as_it_was_measured() -> None:
    known = json.loads((LAB / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
    weighed = {each["what"]: each["ours"] for each in known["parts"]["weight"]["rows"][::2]}
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `([\w,-]+)` \|.* (\d+) \|$", page, re.MULTILINE)
    assert {f"`skr-rag[{extra}]`" for extra, _ in told} == weighed.keys() - {"`skr-rag`"}
    for extra, megabytes in told:
        assert int(megabytes) == pytest.approx(weighed[f"`skr-rag[{extra}]`"], rel=0.05)


JAWS = Reference.of("Jaws is a film directed by Steven Spielberg.", "Jaws")
SPIELBERG = Reference.of("Spielberg was born in 1946.", "Steven Spielberg")
DIRECTED = "Who directed the film Jaws?"
BORN = "When was the director of Jaws born?"
CALLS = {
    "`RetrieverQueryEngine`": (1, 1),
    # A plan, the question as a whole, and the answer made of its answer.
    "`SubQuestionQueryEngine`": (3, 3),
    # Two calls a step, the query that ends it, and the answer made of their answers.
    "`MultiStepQueryEngine`": (4, 6),
    # A route; a round grades its document, answers and grades that twice; three rounds, and two
    # rewritings between them, which never name him.
    "adaptive RAG in LangGraph": (5, 15),
    f"{multihop.OURS}, one round": (1, 1),
    multihop.OURS: (1, 2),
}


def search(query: str) -> list[Reference]:
    return [SPIELBERG] if "Spielberg" in query else [JAWS]


@pytest.mark.parametrize("system", CALLS)
def test_the_stand_in_answers_the_prompts_of_each_system(system: str) -> None:
    stand_in = StandIn(search)
    ask = multihop.systems(stand_in)[system]
    calls = []
    answer = ""
    for question in (DIRECTED, BORN):
        stand_in.begin()
        with ThreadPoolExecutor(1) as thread:  # where LlamaIndex closes the event loop it makes
            answer = thread.submit(ask, question).result()
        calls.append(stand_in.spent.calls)
        assert "directed by Steven Spielberg" in answer or "born in 1946" in answer
        assert stand_in.spent.sent > stand_in.spent.received > 0
    assert tuple(calls) == CALLS[system]
    by_steps = system in (multihop.OURS, "`MultiStepQueryEngine`")
    assert ("born in 1946" in answer) == by_steps
    with pytest.raises(ValueError, match="nobody knows"):
        stand_in.reply("Sing.")


def test_made_up_worlds_are_the_same_on_each_run_and_are_what_they_say() -> None:
    for world in made.WORLDS:
        items = world.items(300)
        assert len({item.text for item in items}) == 300
        known = mean(item.known for item in items)
        assert (known == 0) == (world.known is None)
        assert (known == 1) == (world.known == 0)
        again = replace(world).items(8)[7]
        assert (again.text, again.passage) == (items[7].text, items[7].passage)


def test_of_two_hops_the_second_is_found_by_what_the_first_names() -> None:
    items = made.WORLDS[1].items(50)
    retriever = made.MadeRetriever(items)
    [item, *_] = [each for each in items if each.middle and each.find(each.text)]
    first = answer_with_references(item.text, retriever.retrieve(item.text)).text
    said = item.reply(first)
    assert said.startswith("INSUFFICIENT")
    query = said.rpartition("Search: ")[2]
    assert item.middle in query
    found = item.find(query)
    second = answer_with_references(item.text, [Reference.of(each) for each in found]).text
    assert item.reply(second).startswith("SUFFICIENT" if found else "INSUFFICIENT")


@pytest.mark.usefixtures("few_trees")
def test_an_agent_calibrated_on_itself_costs_less_than_one_with_a_tool_alone() -> None:
    plain, always, never, routed = agents.measured(12)
    assert (plain.calls, always.calls, never.calls) == ((2, 2, 2), (1, 1, 1), (1, 1, 1))
    assert routed.calls[0] < plain.calls[0]
    assert routed.tokens[0] < plain.tokens[0]
    assert routed.gain[2] >= 0
    lines = list(page.table([asdict(each) for each in (plain, routed)]))
    assert lines[2].startswith("| a search tool, no middleware | 0.")
    assert "| 2.00 (2.00 to 2.00) |" in lines[2]


def test_a_promise_is_kept_within_its_interval() -> None:
    kept = worlds.Promise(0.5, 0.4, 0.6, served=0.6)
    broken = worlds.Promise(0.5, 0.4, 0.6, served=0.61)
    draws = [
        worlds.Draw("noise", 100, seed, "pays", "ladder", dict.fromkeys(worlds.FIGURES, each))
        for seed, each in enumerate([kept, broken])
    ]
    assert worlds.row("noise", 100, draws).startswith("| noise | 100 | 0.50 | 0.200 | -0.1050 |")
