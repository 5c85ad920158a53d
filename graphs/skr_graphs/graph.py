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
`GraphAnswerer` asks the compiled graph what is collected and evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from skr_core._compat import renew_connections_in_children
from skr_core.budget import Budget
from skr_core.conversation import exchanges
from skr_core.errors import InputError, retrieved
from skr_core.flow import Flow, arun, call, interruptible, run
from skr_core.plain import Plain, from_plain
from skr_core.ports import AnswerArbiter, LanguageModel, ReferenceStore, Retriever
from skr_core.prompts.templates import PromptTemplates
from skr_core.replies.queries import AllowQuery
from skr_core.routers.constant import AlwaysRetrieve, FixedDecision
from skr_core.settings import (
    Instructions,
    OnRetrieverError,
    ReflectorLike,
    RouterLike,
    SchemaLike,
    Scope,
    Settings,
    WhenInsufficient,
    answerer_of,
)
from skr_core.types import NO_USAGE, Action, Answer, Decision, Demonstration, Round
from skr_graphs import retrieval, steps
from skr_graphs.arbitration import arbitrate
from skr_graphs.context import SettingsOfRuns, SKRContext
from skr_graphs.finish import answer_in, conclude, finish, object_of
from skr_graphs.node import Edge, Step, as_edge, as_node
from skr_graphs.state import (
    NAME,
    NAME_KEY,
    OUTPUT_KEYS,
    AskedQuestion,
    FirstState,
    SentQuery,
    SKRInput,
    SKROutput,
    SKRState,
    answer_of,
    images_of,
)

if TYPE_CHECKING:
    from skr_core.schemas import ResponseFormat


class SelfCompletionGraph(StateGraph[SKRState, SKRContext, SKRInput, SKROutput]):
    """The graph that `create_self_completion_graph` builds.

    Attributes:
        defaults: The settings that it was made with.
    """

    defaults: SettingsOfRuns

    def compile(self, *args: Any, name: str | None = None, **options: Any) -> CompiledGraph:
        """Compile the graph, with the arguments of LangGraph's own ``compile``.

        Its messages bear its name, by which a graph of several agents tells who spoke. No node of
        it is ever cached: LangGraph's ``cache`` knows nothing of a run's context and config.
        """
        compiled = super().compile(*args, name=name or NAME, **options)
        # As its own `copy` makes the same again.
        attributes = {key: each for key, each in vars(compiled).items() if key != "__orig_class__"}
        # Else it would be LangChain's few steps where a runnable of its own calls the graph.
        return CompiledGraph(**attributes).with_config(
            metadata={NAME_KEY: compiled.name}, recursion_limit=RECURSION_LIMIT
        )


class CompiledGraph(CompiledStateGraph[SKRState, SKRContext, SKRInput, SKROutput]):
    """The same, compiled; an interrupt (Ctrl-C) ends its sync runs at once.

    LangGraph itself waits until the nodes of its threads are over, whatever they wait for.
    """

    def stream(self, *args: Any, **options: Any) -> Iterator[Any]:
        """Stream a run, as LangGraph does; closing it ends what is under way."""
        pieces: Any = super().stream(*args, **options)  # a generator
        return interruptible(pieces)


RECURSION_LIMIT = 9_999
"""The steps of a run, as many as LangChain's agents have: it is the budget that ends a loop."""

History = Sequence[tuple[str, str]]
"""The messages before a question, each a role and a text."""

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
    reference_store: ReferenceStore | None = None,
    scope: Scope | None = None,
    ttl: float | None = None,
    budget: Budget | None = None,
    when_insufficient: WhenInsufficient | None = None,
    on_retriever_error: OnRetrieverError | None = None,
    demonstrations: Sequence[Demonstration] | None = None,
    templates: PromptTemplates | None = None,
    instructions: Instructions | None = None,
    decompose: bool | None = None,
    metadata_keys: Sequence[str] | None = None,
    arbiter: AnswerArbiter | None = None,
    response_format: SchemaLike | None = None,
    abstain_below: float | None = None,
    abstention: str | None = None,
    allow_query: AllowQuery | None = None,
    review_queries: bool = False,
) -> SelfCompletionGraph:
    """Build the graph; each setting is a default that a run's context may replace.

    Args:
        model: The model that answers, and names what is missing.
        retriever: The retriever that finds references.
        router: The router that decides whether to retrieve, or the file of a saved one; by
            default every question is retrieved for.
        reflector: The judge of drafts, or the file of a learned one; by default the model's own
            verdict in its reply.
        reference_store: The store that remembers what the retriever found, and is searched beside
            it.
        scope: The scope in which it remembers and searches: a text, or a function of the run's
            config. Must be given beside a retriever.
        ttl: The seconds for which a passage is remembered; for ever by default.
        budget: The limits of a question.
        when_insufficient: The answer where the references never sufficed: ``best_draft`` (default),
            ``own_knowledge`` or ``refuse``.
        on_retriever_error: The outcome where every search of the first round fails: ``raise``
            (default) or ``continue``.
        demonstrations: Worked examples for the answer prompts.
        templates: The words of the prompts.
        instructions: The words that stand before them where an answer is asked for.
        decompose: Whether to ask for the parts of a question before the first search.
        metadata_keys: The keys of a reference's metadata that the model is shown, beside its title.
        arbiter: The arbiter between the answer from references and the model's own; a router that
            is one brings it along.
        response_format: The schema of the answer's object, as ``structured_response`` of the
            output: a pydantic model, a dataclass, a ``TypedDict`` or a JSON Schema.
        abstain_below: The chance to be right below which an answer is not served.
        abstention: The text that is served in its place.
        allow_query: The rule of which queries may be searched, as passages may bring the model to
            write others: a function of a query and its question that returns a bool.
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
            "reference_store": reference_store,
            "scope": scope,
            "ttl": ttl,
            "budget": budget,
            "when_insufficient": when_insufficient,
            "on_retriever_error": on_retriever_error,
            "demonstrations": demonstrations,
            "templates": templates,
            "instructions": instructions,
            "decompose": decompose,
            "metadata_keys": metadata_keys,
            "arbiter": arbiter,
            "response_format": response_format,
            "abstain_below": abstain_below,
            "abstention": abstention,
            "allow_query": allow_query,
        }
    )
    renew_connections_in_children(settings)
    graph = SelfCompletionGraph(
        SKRState, context_schema=SKRContext, input_schema=SKRInput, output_schema=SKROutput
    )
    graph.defaults = settings
    graph.add_node(
        "condense", as_node(steps.condense, settings, begins=True), input_schema=FirstState
    )
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


def response_format_of(graph: Any) -> ResponseFormat | None:
    """The schema of a compiled graph's answers; None where they are texts."""
    defaults = getattr(getattr(graph, "builder", None), "defaults", None)
    return defaults.response_format if isinstance(defaults, SettingsOfRuns) else None


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
    asked: AskedQuestion = {**state["asked"], "images": []}  # not once for each search
    return [
        Send(
            "retrieve",
            SentQuery(
                query=query,
                position=position,
                round=len(state["rounds"]) + 1,
                alone=len(state["queries"]) == 1,
                asked=asked,
                usage=state["usage"],
            ),
        )
        for position, query in enumerate(state["queries"])
    ]


DECISIONS: Mapping[Action, Decision] = {
    "direct": Decision(False, reason="no question is retrieved for"),
    "single": Decision(True, max_rounds=1, reason="every question is retrieved for once"),
    "loop": Decision(True, reason="every question is retrieved for"),
}
"""The decision of a system that always takes this action."""


class GraphAnswerer:
    """Answers with the compiled graph of a system's settings: what is measured is what is served.

    Args:
        settings: The settings of the system.
        config: The config of every run.

    Example:
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> model = ScriptedModel({"answer_directly": ["Lyon."]}, otherwise="Paris [1].")
        >>> retriever = MappingRetriever({"Capital?": ["Paris is the capital."]})
        >>> answerer = GraphAnswerer(Settings(model, retriever))
        >>> answerer.answer("Capital?").text, answerer.answer("Capital?", "direct").text
        ('Paris [1].', 'Lyon.')
    """

    def __init__(self, settings: Settings, config: RunnableConfig | None = None) -> None:
        self.settings = settings
        self._config = config
        self._graph: CompiledGraph = create_self_completion_graph(**vars(settings)).compile()
        # A given action is answered without an arbiter, which the router may be too.
        self._unweighed = self._graph
        if settings.weighs:
            without = settings.but(arbiter=None, abstain_below=None, router=AlwaysRetrieve())
            self._unweighed = create_self_completion_graph(**vars(without)).compile()
        self._contexts = {
            action: SKRContext(router=FixedDecision(decision))
            for action, decision in DECISIONS.items()
        }

    def answer(self, question: str, action: Action | None = None) -> Answer:
        """Answer by the router, or by the given action."""
        return run(self._answer(question, action))

    async def aanswer(self, question: str, action: Action | None = None) -> Answer:
        """Async version of `answer`."""
        return await arun(self._answer(question, action))

    def answer_each(
        self, question: str, *, history: History = (), config: Mapping[str, Any] | None = None
    ) -> Mapping[Action, Answer]:
        """Answer by every action.

        ``single`` is the first round of ``loop``, so it costs nothing more, with one exception:
        where that round's draft is a refusal and `when_insufficient` is ``own_knowledge``, a system
        of one round would ask the model once more, and so does this.

        Args:
            question: The question.
            history: The messages before it, each a role and a text.
            config: The config of its runs, beside that of all.

        Returns:
            The answers; their `question` stands without the history.

        Raises:
            ModelError: The model failed.
            RetrieverError: Every search failed, so that nothing is learnt about retrieval.
        """
        return run(self._answer_each({"question": question, "history": [*history]}, config))

    async def aanswer_each(
        self, question: str, *, history: History = (), config: Mapping[str, Any] | None = None
    ) -> Mapping[Action, Answer]:
        """Async version of `answer_each`."""
        asked = {"question": question, "history": [*history]}
        return await arun(self._answer_each(asked, config))

    def _answer(self, question: str, action: Action | None) -> Flow[Answer]:
        return answer_of((yield from self._run({"question": question}, action, OUTPUT_KEYS)))

    def _answer_each(self, asked: Plain, config: Any) -> Flow[Mapping[Action, Answer]]:
        output = yield from self._run(asked, "direct", [*OUTPUT_KEYS, "asked"], config)
        direct = replace(answer_of(output), question=output["asked"]["standalone"])
        output = yield from self._run(asked, "loop", [*OUTPUT_KEYS, "pool", "asked"], config)
        loop = replace(answer_of(output), question=direct.question)
        retrieved(loop)
        single = yield from self._first_round(output, loop, merge_configs(self._config, config))
        return {"direct": direct, "single": single, "loop": loop}

    def _run(
        self, asked: Plain, action: Action | None, keys: Sequence[str], config: Any = None
    ) -> Flow[Any]:
        # The overloads of LangGraph know no output keys.
        graph: Any = self._graph if action is None else self._unweighed
        context = None if action is None else self._contexts[action]
        return (
            yield from call(
                graph.invoke,
                graph.ainvoke,
                asked,
                merge_configs(self._config, config),
                context=context,
                output_keys=list(keys),
            )
        )

    def _first_round(self, output: Any, loop: Answer, config: Any) -> Flow[Answer]:
        """The answer that a system of one round would have given."""
        rounds: Sequence[Plain] = output["rounds"][:1]
        if len(loop.rounds) <= 1:
            # Another round was wanted, but nothing was left to search for.
            went_on = "self_complete" in loop.usage or loop.stop_reason == "no_new_queries"
            return replace(
                loop,
                decision=DECISIONS["single"],
                stop_reason="max_rounds" if went_on else loop.stop_reason,
                usage={task: each for task, each in loop.usage.items() if task != "self_complete"},
            )

        first = from_plain(Round, rounds[0])
        decomposing = loop.usage.get("decompose", NO_USAGE)
        judging = first.reflection.usage if first.reflection else NO_USAGE
        so_far = decomposing + first.usage + judging
        # Its draft was found insufficient, or there would be no second round.
        chosen = yield from conclude(
            loop.question,
            rounds,
            output["pool"],
            self.settings.of_run(config, output["asked"]["system"]),
            sufficient=False,
            may_call=not self.settings.budget.spent(so_far, seconds=0.0),
            spent=so_far,
            history=exchanges(output["asked"]["turns"]),
            images=images_of(output),
        )
        spent = {
            "condense": loop.usage.get("condense", NO_USAGE),
            "decompose": decomposing,
            "answer_with_references": first.usage,
            "reflect": judging,
            "answer_anyway": chosen.usage,
        }
        made = replace(
            loop,
            decision=DECISIONS["single"],
            rounds=(first,),
            stop_reason="max_rounds",
            usage={task: usage for task, usage in spent.items() if usage != NO_USAGE},
        )
        answer = answer_in(chosen, made)
        structured = object_of(self.settings, answer.text).get("structured_response")
        return replace(answer, structured=structured)


@answerer_of.register(CompiledStateGraph)
def answerer_of_graph(
    graph: Any, context: SKRContext | None = None, config: RunnableConfig | None = None
) -> GraphAnswerer:
    """Return what asks a compiled graph by every action, without its checkpointer.

    Args:
        graph: A graph of `create_self_completion_graph`, compiled.
        context: The settings of every run that differ from the graph's own.
        config: The config of every run, beside the graph's own.

    Raises:
        InputError: It is another graph, or has no model of its own.

    Example:
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> graph = create_self_completion_graph(
        ...     model=ScriptedModel(["Paris [1]."]),
        ...     retriever=MappingRetriever({"Capital?": ["Paris is the capital."]}),
        ... ).compile()
        >>> answerer_of_graph(graph).answer("Capital?").text
        'Paris [1].'
    """
    if not isinstance(graph.builder, SelfCompletionGraph):
        raise InputError(
            "this graph is your own, whose actions are not known: give the graph of "
            "create_self_completion_graph or create_skr_graph that stands within it"
        )
    return GraphAnswerer(graph.builder.defaults.of(context), merge_configs(graph.config, config))
