"""The state machine (RaLLM §5): route, retrieve, answer, reflect, follow up, until it suffices.

```text
START ─► condense ─► route ─known─► answer_directly ──────────────────────────────────────────► END
                       └─unknown─► retrieve ×n ─► merge ─► answer ─► reflect ─► finish ─► END
                                       ▲                                │ insufficient
                                       └────────── follow_up ◄──────────┘
```

With ``decompose`` a node of that name stands between ``route`` and the first ``retrieve``, with an
``arbiter`` a node ``arbitrate`` between ``finish`` and the end. With
``review_queries`` a node ``review`` stands before every ``retrieve``, where a person may edit
what will be searched.

The edges are pure functions of the state. Every way out is a ``stop_reason`` that a step has set.
"""

from __future__ import annotations

from collections.abc import Mapping

from langgraph.graph import END, START
from langgraph.types import Send
from typing_extensions import Unpack

from skr_core.options import SettingsOptions
from skr_core.ports import LanguageModel, Retriever
from skr_graphs import querying, searching, steps
from skr_graphs.arbitration import arbitrate
from skr_graphs.compiled import SelfCompletionGraph
from skr_graphs.context import SettingsOfRuns, SKRContext
from skr_graphs.conversation import condense
from skr_graphs.finish import finish
from skr_graphs.node import Edge, Step, as_edge, as_node
from skr_graphs.observing import OBSERVED
from skr_graphs.review import review
from skr_graphs.state import (
    LARGE,
    RESULTS,
    FirstState,
    SentQuery,
    SKRInput,
    SKROutput,
    SKRState,
    StepState,
)

STEPS: Mapping[str, Step] = {
    "route": steps.route,
    "answer_directly": steps.answer_directly,
    "decompose": querying.decompose,
    "merge": searching.merge,
    "answer": steps.answer,
    "reflect": steps.reflect,
    "follow_up": querying.follow_up,
    "finish": finish,
    "arbitrate": arbitrate,
}
"""What each node does, but for the first, and for the searches, which are sent out one by one."""

WEIGHING = ("reflect", "arbitrate")
"""Those in which a ladder or an arbiter is shown answers."""


def create_self_completion_graph(
    *,
    model: LanguageModel | None = None,
    retriever: Retriever | None = None,
    review_queries: bool = False,
    **options: Unpack[SettingsOptions],
) -> SelfCompletionGraph:
    """Build the graph; each setting is a default that a run's context may replace.

    Args:
        model: Answers, and names what is missing.
        retriever: Finds references.
        review_queries: Stop before every retrieval until a person has seen the queries: compile
            with a checkpointer and resume with ``Command(resume=[queries])``, see `review`.
        **options: The other settings, see `skr_core.settings.Settings`.

    Returns:
        The uncompiled graph: ``{"question": str}`` or ``{"messages": [...]}`` in, `SKROutput` out.
        With a checkpointer a thread keeps its conversation.

    Raises:
        InputError: A setting is not what its name says.

    Example:
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> graph = create_self_completion_graph(
        ...     model=ScriptedModel(["Paris [1]."]),
        ...     retriever=MappingRetriever({"Capital of France?": ["Paris is its capital."]}),
        ... ).compile()
        >>> graph.invoke({"question": "Capital of France?"})["stop_reason"]
        'sufficient'
    """
    settings = SettingsOfRuns({"model": model, "retriever": retriever, **options})
    graph = SelfCompletionGraph(
        SKRState, context_schema=SKRContext, input_schema=SKRInput, output_schema=SKROutput
    )
    # It is handed a `SentQuery`, which is none of the state: LangGraph would make a channel of each
    # of its keys, and copy them with every edge.
    search_node = as_node(searching.retrieve, settings, reads=OBSERVED)
    graph.add_node("retrieve", search_node, input_schema=StepState)
    first_node = as_node(condense, settings, reads=(), begins=True)
    graph.add_node("condense", first_node, input_schema=FirstState)
    for name, step in STEPS.items():
        ends = ("arbitrate", END) if name == "finish" else None
        reads = (*LARGE, *RESULTS) if name in WEIGHING else LARGE
        node = as_node(step, settings, reads=reads)
        graph.add_node(name, node, input_schema=StepState, destinations=ends)

    first: Edge = after_route
    further: Edge = after_queries
    search = "retrieve"
    if review_queries:
        first, further, search = by_review(after_route), by_review(after_queries), "review"
        graph.add_node("review", as_node(review, settings), input_schema=StepState)
        graph.add_conditional_edges("review", as_edge(after_queries), ["retrieve", "finish"])

    graph.add_edge(START, "condense")
    graph.add_edge("condense", "route")
    chosen = ["answer_directly", "decompose", search, "finish"]
    graph.add_conditional_edges("route", as_edge(first), chosen)
    graph.add_conditional_edges("decompose", as_edge(further), [search, "finish"])
    graph.add_edge("retrieve", "merge")
    graph.add_edge("merge", "answer")
    graph.add_edge("answer", "reflect")
    graph.add_conditional_edges("reflect", as_edge(after_reflect), ["follow_up", "finish"])
    graph.add_conditional_edges("follow_up", as_edge(further), [search, "finish"])
    graph.add_edge("answer_directly", END)
    graph.add_edge("arbitrate", END)
    return graph


def after_route(state: SKRState) -> str | list[Send]:
    """Unknown questions are searched, or taken apart first; known ones answered.

    Routing may have spent the budget.
    """
    if state["stop_reason"]:
        return "finish"
    if not state["decision"]["retrieve"]:
        return "answer_directly"
    return fan_out(state) if state["queries"] else "decompose"


def after_reflect(state: SKRState) -> str:
    """Sufficient or exhausted is the end; else the loop goes on, also where nothing was found."""
    return "finish" if state["stop_reason"] else "follow_up"


def after_queries(state: SKRState) -> str | list[Send]:
    """New queries are searched; none is the end."""
    return "finish" if state["stop_reason"] else fan_out(state)


def by_review(edge: Edge) -> Edge:
    """The same edge, but what was about to be searched is reviewed first."""

    def reviewed(state: SKRState) -> str | list[Send]:
        target = edge(state)
        return "review" if isinstance(target, list) else target

    return reviewed


def fan_out(state: SKRState) -> list[Send]:
    """One search a query, so that each is checkpointed and visible by itself."""
    return [
        Send(
            "retrieve",
            SentQuery(
                query=query,
                position=position,
                round=len(state["rounds"]) + 1,
                alone=len(state["queries"]) == 1,
            ),
        )
        for position, query in enumerate(state["queries"])
    ]
