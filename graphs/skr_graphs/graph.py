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

from collections.abc import Sequence

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from skr_core.budget import Budget
from skr_core.ports import LanguageModel, ReferenceStore, Retriever, TextScorer
from skr_core.prompts.templates import PromptTemplates
from skr_core.settings import (
    ArbiterLike,
    OnRetrieverError,
    ReflectorLike,
    RouterLike,
    WhenInsufficient,
)
from skr_core.types import Demonstration
from skr_graphs import retrieval, steps
from skr_graphs.arbitration import arbitrate
from skr_graphs.context import SettingsOfRuns, SKRContext
from skr_graphs.conversation import condense
from skr_graphs.finish import finish
from skr_graphs.node import Edge, Step, as_edge, as_node
from skr_graphs.state import FirstState, SentQuery, SKRInput, SKROutput, SKRState

SelfCompletionGraph = StateGraph[SKRState, SKRContext, SKRInput, SKROutput]
"""The graph that `create_self_completion_graph` builds."""

CompiledGraph = CompiledStateGraph[SKRState, SKRContext, SKRInput, SKROutput]
"""The same, compiled."""

STEPS: Sequence[Step] = (
    *(steps.route, steps.answer_directly, retrieval.decompose, retrieval.retrieve),
    *(retrieval.merge, steps.answer, steps.reflect, retrieval.follow_up, arbitrate),
)
"""The nodes of every graph that need nothing said beside their step; each is named after it."""


def create_self_completion_graph(
    *,
    model: LanguageModel | None = None,
    retriever: Retriever | None = None,
    router: RouterLike | None = None,
    reflector: ReflectorLike | None = None,
    store: ReferenceStore | None = None,
    budget: Budget | None = None,
    when_insufficient: WhenInsufficient | None = None,
    on_retriever_error: OnRetrieverError | None = None,
    demonstrations: Sequence[Demonstration] | None = None,
    templates: PromptTemplates | None = None,
    decompose: bool | None = None,
    metadata_keys: Sequence[str] | None = None,
    arbiter: ArbiterLike | None = None,
    likelihoods: TextScorer | None = None,
    review_queries: bool = False,
) -> SelfCompletionGraph:
    """Build the graph; each setting is a default that a run's context may replace.

    Args:
        model: The model that answers, and names what is missing.
        retriever: The retriever that finds references.
        router: The router that decides whether to retrieve, or the folder of a saved one; by
            default every question is retrieved for.
        reflector: The judge of drafts, or the folder of a learned one; by default the model's own
            verdict in its reply.
        store: The store that remembers what the retriever found, and is searched beside it.
        budget: The limits of a question.
        when_insufficient: The answer where the references never sufficed: ``best_draft`` (default),
            ``own_knowledge`` or ``refuse``.
        on_retriever_error: The outcome where every search of the first round fails: ``raise``
            (default) or ``continue``.
        demonstrations: Worked examples for the answer prompts.
        templates: The words of the prompts.
        decompose: Whether to ask for the parts of a question before the first search.
        metadata_keys: The keys of a reference's metadata that the model is shown, beside its title.
        arbiter: The arbiter between the answer from references and the model's own, or its folder.
        likelihoods: The scorer of given answers, for an arbiter that decides by likelihoods.
        review_queries: Whether to stop before every retrieval until a person has seen the queries:
            compile with a checkpointer and resume with ``Command(resume=[queries])``, see
            `skr_graphs.retrieval.review`.

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
    settings = SettingsOfRuns(
        {
            "model": model,
            "retriever": retriever,
            "router": router,
            "reflector": reflector,
            "store": store,
            "budget": budget,
            "when_insufficient": when_insufficient,
            "on_retriever_error": on_retriever_error,
            "demonstrations": demonstrations,
            "templates": templates,
            "decompose": decompose,
            "metadata_keys": metadata_keys,
            "arbiter": arbiter,
            "likelihoods": likelihoods,
        }
    )
    graph: SelfCompletionGraph = StateGraph(
        SKRState, context_schema=SKRContext, input_schema=SKRInput, output_schema=SKROutput
    )
    graph.add_node("condense", as_node(condense, settings, begins=True), input_schema=FirstState)
    for step in STEPS:
        graph.add_node(step.__name__, as_node(step, settings))
    graph.add_node("finish", as_node(finish, settings), destinations=("arbitrate", END))

    first: Edge = after_route
    further: Edge = after_queries
    search = "retrieve"
    if review_queries:
        first, further, search = by_review(after_route), by_review(after_queries), "review"
        graph.add_node("review", as_node(retrieval.review, settings))
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
    """Search for an unknown question, or take it apart first; answer a known one.

    Routing may have spent the budget.
    """
    if state["stop_reason"]:
        return "finish"
    if not state["decision"]["retrieve"]:
        return "answer_directly"
    return fan_out(state) if state["queries"] else "decompose"


def after_reflect(state: SKRState) -> str:
    """End where a stop reason is set; else go on, also where nothing was found."""
    return "finish" if state["stop_reason"] else "follow_up"


def after_queries(state: SKRState) -> str | list[Send]:
    """Search new queries; end where there are none."""
    return "finish" if state["stop_reason"] else fan_out(state)


def by_review(edge: Edge) -> Edge:
    """The same edge, with a review before every search."""

    def reviewed(state: SKRState) -> str | list[Send]:
        target = edge(state)
        return "review" if isinstance(target, list) else target

    return reviewed


def fan_out(state: SKRState) -> list[Send]:
    """Send out one search for each query, so that each is checkpointed and visible by itself."""
    return [
        Send(
            "retrieve",
            SentQuery(
                query=query,
                position=position,
                round=len(state["rounds"]) + 1,
                alone=len(state["queries"]) == 1,
                asked=state["asked"],
                usage=state["usage"],
            ),
        )
        for position, query in enumerate(state["queries"])
    ]
