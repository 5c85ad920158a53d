"""GraphAnswerer: answers questions with the compiled graph, by its router or by a given action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from skr_core.errors import retrieved
from skr_core.flow import Flow, arun, call, run
from skr_core.plain import from_plain
from skr_core.routers.constant import AlwaysRetrieve, FixedDecision
from skr_core.settings import Settings
from skr_core.types import NO_USAGE, Action, Answer, Decision, Round
from skr_graphs.context import SKRContext
from skr_graphs.events import Plain
from skr_graphs.finish import conclude
from skr_graphs.graph import CompiledGraph, create_self_completion_graph
from skr_graphs.state import OUTPUT_KEYS, answer_of

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

    Example:
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> model = ScriptedModel({"answer_directly": ["Lyon."]}, otherwise="Paris [1].")
        >>> retriever = MappingRetriever({"Capital?": ["Paris is the capital."]})
        >>> answerer = GraphAnswerer(Settings(model, retriever))
        >>> answerer.answer("Capital?").text, answerer.answer("Capital?", "direct").text
        ('Paris [1].', 'Lyon.')
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._graph: CompiledGraph = create_self_completion_graph(**vars(settings)).compile()
        # A given action is answered without an arbiter, which the router may be too.
        self._unweighed = self._graph
        if settings.arbiter is not None:
            without = settings.but(arbiter=None, router=AlwaysRetrieve())
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

    def answer_each(self, question: str) -> Mapping[Action, Answer]:
        """Answer by every action.

        ``single`` is the first round of ``loop``, so it costs nothing more, with one exception:
        where that round's draft is a refusal and `when_insufficient` is ``own_knowledge``, a system
        of one round would ask the model once more, and so does this.

        Raises:
            ModelError: The model failed.
            RetrieverError: Every search failed, so that nothing is learnt about retrieval.
        """
        return run(self._answer_each(question))

    async def aanswer_each(self, question: str) -> Mapping[Action, Answer]:
        """Async version of `answer_each`."""
        return await arun(self._answer_each(question))

    def _answer(self, question: str, action: Action | None) -> Flow[Answer]:
        return answer_of((yield from self._run(question, action, OUTPUT_KEYS)))

    def _answer_each(self, question: str) -> Flow[Mapping[Action, Answer]]:
        direct = yield from self._answer(question, "direct")
        output = yield from self._run(question, "loop", [*OUTPUT_KEYS, "pool"])
        loop = answer_of(output)
        retrieved(loop)
        single = yield from self._first_round(output, loop)
        return {"direct": direct, "single": single, "loop": loop}

    def _run(self, question: str, action: Action | None, keys: Sequence[str]) -> Flow[Any]:
        # The overloads of LangGraph know no output keys.
        graph: Any = self._graph if action is None else self._unweighed
        context = None if action is None else self._contexts[action]
        return (
            yield from call(
                graph.invoke,
                graph.ainvoke,
                {"question": question},
                context=context,
                output_keys=list(keys),
            )
        )

    def _first_round(self, output: Any, loop: Answer) -> Flow[Answer]:
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
            self.settings,
            sufficient=False,
            may_call=not self.settings.budget.spent(so_far, seconds=0.0),
            spent=so_far,
        )
        cited = chosen.cited
        spent = {
            "decompose": decomposing,
            "answer_with_references": first.usage,
            "reflect": judging,
            "answer_anyway": chosen.usage,
        }
        return Answer(
            question=loop.question,
            text=cited.text,
            citations=cited.citations,
            references=tuple(chosen.references),
            decision=DECISIONS["single"],
            rounds=(first,),
            stop_reason="max_rounds",
            usage={task: usage for task, usage in spent.items() if usage != NO_USAGE},
            removed_markers=cited.removed,
            grounded=chosen.grounded,
        )
