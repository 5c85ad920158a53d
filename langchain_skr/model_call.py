"""ModelCall: one call of an agent's model, and what `SKRMiddleware` makes of the reply.

A reply that may yet be replaced is asked for out of the stream: a draft that a router looks at, and
an answer that a reflector or an arbiter judges. It is shown once it stands.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.tools import BaseTool

from langchain_skr.models import LangChainModel, generation_of
from skr_core.bounds import steady_time
from skr_core.errors import DeadlineError, ModelError, RetrieverError, extra
from skr_core.flow import Flow, call
from skr_core.models.chunked import reply_limit
from skr_core.models.windows import tokens_for
from skr_core.plain import Plain, from_plain, to_plain
from skr_core.ports import DraftRouter
from skr_core.prompts.templates import REFUSAL, WITH_REFERENCES
from skr_core.references.citations import resolve_citations
from skr_core.references.fusion import merge_rankings
from skr_core.references.passages import fence_references, pack_references
from skr_core.replies.opening import strip_thoughts
from skr_core.replies.queries import as_query, not_asked
from skr_core.replies.refusals import is_refusal
from skr_core.rivals import candidate_of_answer, candidate_of_generation
from skr_core.settings import reflected
from skr_core.types import (
    NO_USAGE,
    Answer,
    Decision,
    Generation,
    Prompt,
    Reference,
    Reflection,
    Round,
    StopReason,
    Usage,
)
from skr_graphs import decide_on, unstreamed, until_it_fits, warn_once

with extra("langchain"):
    from langchain.agents.middleware.types import ModelRequest, ModelResponse

if TYPE_CHECKING:
    from langchain_skr.middleware import SKRMiddleware

LACKED = "An earlier answer of yours lacked this: {missing}"
"""Joins the system message where an answer is asked for again; the wording is ours."""

NO_MORE_CALLS = "The tool {name} may not be called again in this run."
"""The result of a tool call beyond its limit."""


class ModelCall:
    """One call of an agent's model, or as many as it takes until a reply can be shown.

    Args:
        middleware: The middleware, with what it was given.
        request: The request, as the agent makes it.
        handler: The function that makes the call, with whatever other middleware does.

    Attributes:
        update: The keys of the agent's state that the call changes.
    """

    def __init__(
        self, middleware: SKRMiddleware, request: ModelRequest[Any], handler: Callable[..., Any]
    ) -> None:
        self._of, self._request, self._handler = middleware, request, handler
        self._state: Plain = dict(request.state)
        self._router, self._arbiter = middleware.parts_of(self._state)
        self._best = ""
        self._read: Sequence[Reference] = ()
        self.update: Plain = {}

    def flow(self) -> Flow[ModelResponse[Any]]:
        """Make the call; a limit that is reached ends the run with the best that was said."""
        if limit := self._limit():
            return self._ended(limit)
        try:
            response = yield from self._reply()
        except DeadlineError:
            return self._ended("deadline")
        return self._allowed(response)

    def _reply(self) -> Flow[ModelResponse[Any]]:
        decision, question = self._state.get("skr_decision"), self._state.get("skr_question")
        if decision is None and question and looks(self._router):
            draft = yield from self._ask(self._without(self._of.withheld), quiet=True)
            # A tool of another kind comes first: what the model knows is asked for after it.
            if not is_final(draft):
                return draft
            if not (yield from self._decided_on(draft)).retrieve:
                return draft
            self._best = text_of(draft)
            if limit := self._limit():
                return self._ended(limit)
            if self._of.retriever is not None:
                yield from self._search(question)
        elif decision is not None and not decision["retrieve"]:
            return (yield from self._ask(self._without(self._of.withheld)))
        return (yield from self._answer())

    def _answer(self) -> Flow[ModelResponse[Any]]:
        """Answer from references, until they suffice or nothing more may be searched for."""
        reflector, draft = self._of.reflector, self._state.get("skr_draft")
        weighs = self._arbiter is not None and draft is not None
        quiet = weighs or reflector is not None
        missing = ""
        while True:
            response = yield from self._ask_with_references(missing, quiet=quiet)
            if not is_final(response):
                return response
            self._best = text_of(response)
            if reflector is None or not self._references():
                break
            reflection = yield from self._reflection(self._best)
            missing = "" if reflection.sufficient else as_query(reflection.missing)
            if not missing or not (yield from self._found_more(missing)):
                break
        return (yield from self._weighed(response)) if weighs else response

    def _found_more(self, missing: str) -> Flow[bool]:
        """Search for what an answer lacks, where the budget allows another round."""
        asked: Sequence[str] = self._state.get("skr_queries", ())
        limit = self._of.budget.reached(self.usage, rounds=len(asked), seconds=self._seconds())
        if limit or self._of.retriever is None or not not_asked([missing], asked):
            return False
        before = len(self._references("skr_sources"))
        try:
            yield from self._search(missing)
        except RetrieverError as failure:  # the answer that is there stands
            warn_once("search", str(failure))
        return len(self._references("skr_sources")) > before

    def _ask(self, request: ModelRequest[Any], *, quiet: bool = False) -> Flow[ModelResponse[Any]]:
        """Ask the model, with the tools and the tokens that are left to it."""
        budget, usage = self._of.budget, self.usage
        spent = {name for name, left in self._calls_left().items() if left <= 0}
        if budget.max_calls is not None and usage.calls + 1 >= budget.max_calls:
            spent = set(map(name_of, request.tools))  # nobody could read what a tool says
        request = without_tools(request, spent) if spent else request
        if limit := reply_limit(request.model, budget.reply_tokens(usage)):
            request = request.override(model_settings={**limit, **request.model_settings})
        with unstreamed() if quiet else nullcontext():
            response: ModelResponse[Any] = yield from call(self._handler, self._handler, request)
        self.spend(usage_of(response, request))
        return response

    def _ask_with_references(self, missing: str, *, quiet: bool) -> Flow[ModelResponse[Any]]:
        request, references = self._request, self._references()
        if not references:
            return (yield from self._ask(request, quiet=quiet))
        numbers = {each.id: n for n, each in enumerate(self._references("skr_sources"), start=1)}
        lacked = f"\n\n{LACKED.format(missing=missing)}" if missing else ""

        def ask(given: Sequence[Reference]) -> Flow[ModelResponse[Any]]:
            shown = fence_references(given, numbers=[numbers[each.id] for each in given])
            told = joined(request.system_message, WITH_REFERENCES.format(references=shown) + lacked)
            return (yield from self._ask(request.override(system_message=told), quiet=quiet))

        messages = [request.system_message, *request.messages]
        packed, response, refused = yield from until_it_fits(
            ask,
            partial(pack_references, references),
            tokens_for(
                self._of.budget,
                LangChainModel(request.model),
                [lacked, *(_all_in(each) for each in messages if each is not None)],
            ),
        )
        self._read = packed.references
        self.spend(Usage(calls=refused))
        return response

    def _decided_on(self, draft: ModelResponse[Any]) -> Flow[Decision]:
        router = self._router
        assert isinstance(router, DraftRouter)
        direct = _generation(draft, self._request)
        with unstreamed():
            decision = yield from decide_on(
                self._state["skr_question"], router, replace(direct, usage=NO_USAGE)
            )
        self.spend(decision.usage)
        decision = replace(decision, usage=decision.usage + direct.usage)
        self._set(
            skr_decision=to_plain(decision),
            skr_draft={"text": decision.draft, "logprob": direct.mean_logprob},
        )
        return decision

    def _search(self, query: str) -> Flow[None]:
        with unstreamed():
            self._set(**(yield from self._of.searched(query, self._state)))

    def _reflection(self, text: str) -> Flow[Reflection]:
        """Judge an answer; one that cannot be judged is served, as one that is not grounded."""
        assert self._of.reflector is not None
        shown, said = renumbered(text, self._references("skr_sources"), self._read)
        try:
            with unstreamed():
                reflection = yield from reflected(
                    self._of.reflector, self._state["skr_question"], shown, said
                )
        except DeadlineError:
            raise
        except ModelError as failure:
            warn_once("reflect", str(failure))
            reflection = Reflection(False, "the judge failed")
        self.spend(reflection.usage)
        self._set(skr_reflection=to_plain(reflection))
        return reflection

    def _weighed(self, response: ModelResponse[Any]) -> Flow[ModelResponse[Any]]:
        """Serve the answer from references or the draft, as the arbiter finds."""
        arbiter, draft = self._arbiter, self._state["skr_draft"]
        assert arbiter is not None
        direct = Generation(resolve_citations(draft["text"], ()).text)
        answer = answer_in(self._state, text_of(response))
        answers = {
            "direct": replace(candidate_of_generation(direct), confidence=draft["logprob"]),
            arbiter.actions[-1]: candidate_of_answer(answer, direct.text),
        }
        with unstreamed():
            verdict = yield from call(
                arbiter.judge, arbiter.ajudge, self._state["skr_question"], answers
            )
        self._set(skr_verdict=to_plain(verdict))
        confirmed = verdict.served == "direct"
        return ModelResponse(result=[AIMessage(draft["text"])]) if confirmed else response

    def _allowed(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """Refuse the tool calls for which nothing is left."""
        calls = pending_calls(response)
        if calls and (limit := self._limit()):
            return self._ended(limit, text_of(response))
        left, refused = self._calls_left(), []
        for each in calls:
            name = each["name"]
            if name in left:
                left[name] -= 1
                if left[name] < 0:
                    text = NO_MORE_CALLS.format(name=name)
                    refused.append(
                        ToolMessage(text, tool_call_id=each["id"], name=name, status="error")
                    )
        return replace(response, result=[*response.result, *refused]) if refused else response

    def _ended(self, limit: StopReason, said: str = "") -> ModelResponse[Any]:
        """End the run with what is there, where a limit forbids another call."""
        self._set(skr_stop_reason=limit)
        spoken = [str(each.text) for each in _said_in_run(self._request.messages)]
        drafted = (self._state.get("skr_draft") or {}).get("text", "")
        texts = [self._best, drafted, said, *reversed(spoken)]
        return ModelResponse(result=[AIMessage(next(filter(str.strip, texts), f"{REFUSAL}."))])

    @property
    def usage(self) -> Usage:
        """What the run has cost so far."""
        return from_plain(Usage, self._state.get("skr_usage") or {})

    def spend(self, usage: Usage) -> None:
        """Add to what the run has cost."""
        self._set(skr_usage=to_plain(self.usage + usage))

    def _limit(self) -> StopReason | None:
        return self._of.budget.spent(self.usage, seconds=self._seconds())

    def _seconds(self) -> float:
        started: float = self._state.get("skr_started_at") or steady_time()
        return steady_time() - started

    def _calls_left(self) -> dict[str, int]:
        """The calls that each tool with a limit has left in this run."""
        made = Counter(
            each["name"]
            for message in _said_in_run(self._request.messages)
            for each in message.tool_calls
        )
        return {name: most - made[name] for name, most in self._of.max_tool_calls.items()}

    def _without(self, names: Iterable[str]) -> ModelRequest[Any]:
        return without_tools(self._request, names)

    def _references(self, key: str = "skr_references") -> list[Reference]:
        return references_in(self._state, key)

    def _set(self, **keys: Any) -> None:
        self._state |= keys
        self.update |= keys


def looks(router: object) -> bool:
    """Whether a router looks at the direct answer before it decides."""
    return isinstance(router, DraftRouter) and router.drafts


def is_final(response: ModelResponse[Any]) -> bool:
    """Whether the model has answered, and calls no tool but that of its structured answer."""
    return response.structured_response is not None or not _message(response).tool_calls


def pending_calls(response: ModelResponse[Any]) -> list[ToolCall]:
    """The tool calls of a reply that have no result yet."""
    if response.structured_response is not None:
        return []
    done = {each.tool_call_id for each in response.result if isinstance(each, ToolMessage)}
    return [each for each in _message(response).tool_calls if each["id"] not in done]


def text_of(response: ModelResponse[Any]) -> str:
    """The text of a reply without its thoughts; of a structured answer its values as JSON."""
    message = _message(response)
    if response.structured_response is not None and message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    return strip_thoughts(str(message.text))


def usage_of(response: ModelResponse[Any], request: ModelRequest[Any]) -> Usage:
    """The cost of a call: what its message says, or an estimate."""
    return _generation(response, request).usage


def _generation(response: ModelResponse[Any], request: ModelRequest[Any]) -> Generation:
    sent = [str(each.text) for each in request.messages]
    system = "" if request.system_message is None else str(request.system_message.text)
    prompt = Prompt("answer_directly", "", "\n".join(sent), system=system)
    return generation_of(_message(response), text_of(response), prompt)


def _message(response: ModelResponse[Any]) -> AIMessage:
    """The model's own message, beside which results of tools may stand."""
    return next((each for each in response.result if isinstance(each, AIMessage)), AIMessage(""))


def _all_in(message: AnyMessage) -> str:
    """The text of a message, with the calls of tools that stand beside it."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return f"{message.text}{calls or ''}"


def _said_in_run(messages: Sequence[AnyMessage]) -> list[AIMessage]:
    """The model's messages since the user's latest."""
    first = max(
        (n for n, each in enumerate(messages) if isinstance(each, HumanMessage)), default=-1
    )
    return [each for each in messages[first + 1 :] if isinstance(each, AIMessage)]


def found_update(
    state: Mapping[str, Any], query: str, found: Sequence[Reference], limit: int
) -> Plain:
    """The keys of the state that a search changes.

    Args:
        state: The state.
        query: What was searched for.
        found: What was found, best first.
        limit: The most references that a prompt holds.
    """
    before, new = references_in(state, "skr_references"), with_new((), found)
    rankings = [[[each.id for each in some]] for some in (before, new) if some]
    by_id = {each.id: each for each in (*before, *new)}
    kept = [by_id[key] for key in merge_rankings(rankings, limit=limit)]
    return {
        "skr_queries": [*state.get("skr_queries", ()), query],
        "skr_references": to_plain(kept),
        "skr_sources": to_plain(with_new(references_in(state, "skr_sources"), kept)),
    }


def with_new(sources: Sequence[Reference], found: Sequence[Reference]) -> list[Reference]:
    """The sources so far, then the new ones among those found; the place of each is its number.

    Example:
        >>> paris, rome = Reference.of("Paris is in France."), Reference.of("Rome is in Italy.")
        >>> [each.text for each in with_new([paris], [rome, paris])]
        ['Paris is in France.', 'Rome is in Italy.']
    """
    known = {each.id: each for each in sources}
    for each in found:
        known.setdefault(each.id, each)
    return list(known.values())


def references_in(state: Mapping[str, Any], key: str) -> list[Reference]:
    """The references that stand in a state."""
    return [from_plain(Reference, each) for each in state.get(key, ())]


def renumbered(
    text: str, sources: Sequence[Reference], references: Sequence[Reference]
) -> tuple[list[Reference], str]:
    """The references that an answer can be judged by, and the answer that numbers them from 1.

    Args:
        text: The answer, whose markers count the sources of the conversation.
        sources: Those sources.
        references: The references of this question; what else the answer cites follows them.

    Example:
        >>> rome, paris, oslo = (Reference.of(f"It is {name}.") for name in ("R", "P", "O"))
        >>> shown, said = renumbered("Oslo [3], not Rome [1].", [rome, paris, oslo], [oslo])
        >>> [each.text for each in shown], said
        (['It is O.', 'It is R.'], 'Oslo [1], not Rome [2].')
    """
    cited = resolve_citations(text, sources)
    by_id = {each.id: each for each in sources}
    shown = with_new(references, [by_id[each.reference_id] for each in cited.citations])
    places = {each.id: n for n, each in enumerate(shown, start=1)}
    said = cited.text
    for each in reversed(cited.citations):
        start, end = each.span
        said = f"{said[:start]}[{places[each.reference_id]}]{said[end:]}"
    return shown, said


def answer_in(state: Mapping[str, Any], text: str) -> Answer:
    """Return the answer of an agent's run, as everything else here knows answers.

    Args:
        state: The agent's state.
        text: The answer's text.
    """
    cited = resolve_citations(text, references_in(state, "skr_sources"))
    decision = from_plain(Decision, state["skr_decision"])
    judged = state.get("skr_reflection")
    suffices = judged is None or judged["sufficient"]
    grounded = bool(cited.citations) and suffices and not is_refusal(cited.text)
    references = tuple(references_in(state, "skr_references"))
    ended: StopReason = "sufficient" if grounded else "uncited"
    return Answer(
        question=state["skr_question"],
        text=cited.text,
        citations=cited.citations,
        references=references,
        decision=decision,
        rounds=(
            *(Round((each,)) for each in state.get("skr_queries", ())),
            *(Round((), refused=(each,)) for each in state.get("skr_refused", ())),
        ),
        stop_reason=state.get("skr_stop_reason") or (ended if decision.retrieve else "known"),
        usage={"agent": from_plain(Usage, state.get("skr_usage") or {})},
        removed_markers=cited.removed,
        grounded=decision.retrieve and grounded,
    )


def joined(message: SystemMessage | None, text: str) -> SystemMessage:
    """The agent's own instructions first; blocks stay blocks, for they may mark a cache."""
    content = "" if message is None else message.content
    if isinstance(content, str):
        return SystemMessage(f"{content}\n\n{text}" if content else text)
    return SystemMessage([*content, {"type": "text", "text": text}])


def without_tools(request: ModelRequest[Any], names: Iterable[str]) -> ModelRequest[Any]:
    """The request without some tools, none of which is then forced."""
    withheld = set(names)
    kept = [tool for tool in request.tools if name_of(tool) not in withheld]
    forced = name_of(request.tool_choice) in withheld
    return request.override(
        tools=kept, tool_choice=None if forced or not kept else request.tool_choice
    )


def name_of(tool: object) -> str:
    """The name of a tool, of a provider's description of one, or of the one that must be called."""
    if isinstance(tool, BaseTool):
        return tool.name
    if isinstance(tool, dict):
        return str(tool.get("name") or tool.get("function", {}).get("name", ""))
    return tool if isinstance(tool, str) else ""
