"""What the table of costs says of ours, beside the frameworks' own ways, over a socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import library
from benchmarks.cost import Cost, measured

pytestmark = pytest.mark.integration
OURS = ("create_skr_chain", "SKRQueryEngine")
ROOT = Path(__file__).resolve().parents[2]
ROUTED = tuple(f"{name} with a router" for name in OURS)


@pytest.fixture(scope="module")
def costs() -> dict[str, list[Cost]]:
    return measured()


def test_the_second_hop_is_not_found_by_the_first_search() -> None:
    found = " ".join(library.search(library.TWO_HOPS))
    assert library.DESIGNED in found
    assert library.BORN not in found
    assert library.BORN in " ".join(library.search(library.SECOND_HOP))


def test_one_call_for_an_easy_question_and_two_for_two_hops(costs: dict[str, list[Cost]]) -> None:
    for name in (*OURS, *ROUTED):
        assert [(cost.right, cost.calls) for cost in costs[name]] == [(True, n) for n in (1, 1, 2)]


def test_a_router_spares_the_references_of_what_the_model_knows(
    costs: dict[str, list[Cost]],
) -> None:
    for with_router, without in zip(ROUTED, OURS, strict=True):
        (known, *others), (retrieved, *same) = costs[with_router], costs[without]
        assert known.tokens < retrieved.tokens / 10
        assert others == same


def test_of_those_that_answer_all_none_needs_fewer_calls(costs: dict[str, list[Cost]]) -> None:
    right = {name: each for name, each in costs.items() if all(cost.right for cost in each)}
    assert {"create_agent with a search tool", "MultiStepQueryEngine"} < set(right)
    assert not {"RetrieverQueryEngine", "create_retrieval_chain"} & set(right)
    assert "create_retrieval_chain" in costs
    least = min(sum(cost.calls for cost in each) for each in right.values())
    for name in OURS:
        assert sum(cost.calls for cost in costs[name]) == least
        two_hops = [each[-1].tokens for key, each in right.items() if key not in ROUTED]
        assert costs[name][-1].tokens == min(two_hops)


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_the_documentation_has_our_figures(costs: dict[str, list[Cost]], page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in OURS:
        row = next(line for line in text.splitlines() if line.startswith("| ") and name in line)
        easy, two_hops = row.strip(" |").split(" | ")[-2:]
        measured = [f"{cost.calls} · {cost.tokens:,}" for cost in costs[name][1:]]
        assert [easy, two_hops] == measured
