"""Nodes for a graph of one's own: decide whether to retrieve, judge an answer, name new queries.

Each is a runnable from a state to an update, sync and async. The state is the caller's: a typed
dict, a dataclass or a pydantic model. `StateKeys` names the keys that are read and written.

Example:
    >>> from langgraph.graph import START, StateGraph
    >>> from skr_core.routers import AlwaysRetrieve
    >>> from typing_extensions import TypedDict
    >>> class Mine(TypedDict, total=False):
    ...     question: str
    ...     decision: dict
    >>> builder = StateGraph(Mine)
    >>> _ = builder.add_node("route", create_route_node(AlwaysRetrieve()))
    >>> _ = builder.add_edge(START, "route")
    >>> builder.compile().invoke({"question": "Who?"})["decision"]["retrieve"]
    True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, ensure_config

from skr_core import answering
from skr_core.errors import InputError
from skr_core.flow import Flow
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.plain import Plain, from_plain, to_plain
from skr_core.prompts.asking import checked_question
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.references.found import foreign_reference
from skr_core.reflectors import RefusalReflector
from skr_core.routers.routing_alone import routing_alone
from skr_core.settings import (
    Instructions,
    ReflectorLike,
    RouterLike,
    Settings,
    as_reflector,
    as_router,
    decided,
    reflected,
)
from skr_core.types import Demonstration, Reference
from skr_graphs import steps
from skr_graphs.node import FlowNode
from skr_graphs.state import system_in


@dataclass(frozen=True)
class StateKeys:
    """The keys of the state that the nodes read and write.

    Attributes:
        question: The question, read by all: a text, or messages whose latest human one is it.
        decision: The `Decision` as plain values, written by the route node.
        references: The references, read: LangChain documents, texts, or `Reference` objects, also
            as plain values.
        answer: The answer, read: a text, or messages whose latest one of the model is it.
        reflection: The `Reflection` as plain values, written by the reflect node and read by the
            follow-up node.
        queries: The next queries, written by the follow-up node.
        asked: Every query so far, the question first; read and written by the follow-up node.
    """

    question: str = "question"
    decision: str = "decision"
    references: str = "references"
    answer: str = "answer"
    reflection: str = "reflection"
    queries: str = "queries"
    asked: str = "asked"


def create_route_node(
    router: RouterLike | None,
    *,
    model: AnyModel | None = None,
    demonstrations: Sequence[Demonstration] = (),
    templates: PromptTemplates = DEFAULT_TEMPLATES,
    instructions: Instructions | None = None,
    keys: StateKeys = StateKeys(),
) -> Runnable[Any, Plain]:
    """Make the node that decides whether a question needs retrieval.

    Args:
        router: The router, or the file of a saved one. None retrieves always.
        model: The model that answers: a `LanguageModel`, or a model of LangChain. A router that
            looks at the direct answer asks it for that, and leaves it in the decision's ``draft``;
            others need none. What a policy does after the search is left out, which one warning
            says.
        demonstrations: Worked examples for the direct answer.
        templates: The words that ask for the direct answer.
        instructions: The words that stand before them: a text, or a function of the run's config.
        keys: The keys of the state.

    Returns:
        A node: the question in, ``{"decision": {"retrieve": bool, ...}}`` out, which is a
        `Decision` as plain values, so that every checkpointer can store it.

    Raises:
        InputError: The router or the model is not one, the router needs a model and has none, or
            it only weighs answers; while running: there is no question.
        StampMismatch: The file's router was made for another model.

    Example:
        >>> from skr_core.routers import NeverRetrieve
        >>> node = create_route_node(NeverRetrieve())
        >>> node.invoke({"question": "Capital of France?"})["decision"]["reason"]
        'no question is retrieved for'
    """
    answerer = None if model is None else as_language_model(model)
    chosen = routing_alone(
        as_router(router, answerer),
        "create_route_node",
        has_model=answerer is not None,
        keeps_draft=True,
    )
    system: Settings | None = None
    if answerer is not None:
        system = Settings.of(
            answerer,
            router=chosen,
            demonstrations=demonstrations,
            templates=templates,
            instructions=instructions,
        )

    def route(state: Any) -> Flow[Plain]:
        question = _question(state, keys)
        if system is None:
            decision = yield from decided(chosen, question)
        else:
            said = _value(state, keys.question)
            words = "" if isinstance(said, str) else system_in(said)
            decision = yield from steps.decide(question, system.of_run(ensure_config(), words))
        return {keys.decision: to_plain(decision)}

    return FlowNode("route", route)


def create_reflect_node(
    reflector: ReflectorLike = RefusalReflector(), *, keys: StateKeys = StateKeys()
) -> Runnable[Any, Plain]:
    """Make the node that judges whether the references suffice for an answer.

    Args:
        reflector: The judge, or the file of a learned one. By default, without a call, an answer
            suffices that cites a reference as [n] and does not refuse;
            `skr_core.reflectors.JudgeReflector` asks a model.
        keys: The keys of the state.

    Returns:
        A node: question, references and answer in, ``{"reflection": {"sufficient": bool, ...}}``
        out, which is a `Reflection` as plain values.

    Raises:
        InputError: The reflector is not one; while running: there is no question, or something is
            no reference.
        ModelError: While running: the judge failed.

    Example:
        >>> state = {"question": "Capital?", "references": ["It is Paris."], "answer": "Paris [1]."}
        >>> create_reflect_node().invoke(state)["reflection"]["sufficient"]
        True
    """
    chosen = as_reflector(reflector)

    def reflect(state: Any) -> Flow[Plain]:
        reflection = yield from reflected(
            chosen,
            _question(state, keys),
            _references(state, keys),
            _text(_value(state, keys.answer), AIMessage),
        )
        return {keys.reflection: to_plain(reflection)}

    return FlowNode("reflect", reflect)


def create_follow_up_node(
    model: AnyModel,
    *,
    templates: PromptTemplates = DEFAULT_TEMPLATES,
    keys: StateKeys = StateKeys(),
) -> Runnable[Any, Plain]:
    """Make the node that asks a model what to search next.

    Args:
        model: The model that names the queries: a `LanguageModel`, or a model of LangChain.
        templates: The words that ask for them, `PromptTemplates.self_complete`.
        keys: The keys of the state.

    Returns:
        A node: question, references, answer, reflection and earlier queries in, ``{"queries":
        [...], "asked": [...]}`` out. No query means that nothing new was named: end there. Count
        rounds in an edge of yours, since a model may name new queries for ever.

    Raises:
        InputError: The model is not one; while running: there is no question, or something is no
            reference.
        ModelError: While running: the model failed.

    Example:
        >>> from skr_core.testing import ScriptedModel
        >>> node = create_follow_up_node(ScriptedModel(["birthplace of Ada Quill"]))
        >>> node.invoke({"question": "Where was the designer born?", "references": []})
        {'queries': ['birthplace of Ada Quill'], 'asked': ['Where was the designer born?', \
'birthplace of Ada Quill']}
    """
    asking = as_language_model(model)

    def follow_up(state: Any) -> Flow[Plain]:
        question = _question(state, keys)
        asked = list(_value(state, keys.asked) or [question])
        reflection = _value(state, keys.reflection) or {}
        queries, _ = yield from answering.self_complete(
            asking,
            question,
            _references(state, keys),
            asked,
            missing=reflection.get("missing", ""),
            partial=_text(_value(state, keys.answer), AIMessage),
            templates=templates,
        )
        return {keys.queries: list(queries), keys.asked: [*asked, *queries]}

    return FlowNode("follow_up", follow_up)


def _value(state: Any, key: str) -> Any:
    """The value of a key; None where there is none."""
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)


def _question(state: Any, keys: StateKeys) -> str:
    question = _text(_value(state, keys.question), HumanMessage)
    if not question.strip():
        raise InputError(f"the state has no question under {keys.question!r}: see StateKeys")
    return checked_question(question)


def _text(value: Any, speaker: type[BaseMessage]) -> str:
    """A text as it is, or the latest message of this speaker."""
    if isinstance(value, str):
        return value
    said = [each.text for each in value or () if isinstance(each, speaker)]
    return str(said[-1]) if said else ""


def _references(state: Any, keys: StateKeys) -> list[Reference]:
    return [_reference(each) for each in _value(state, keys.references) or ()]


def _reference(found: object) -> Reference:
    if isinstance(found, Reference):
        return found
    if isinstance(found, str):
        return Reference.of(found)
    if isinstance(found, Mapping):
        return from_plain(Reference, found)
    if isinstance(found, Document):
        about = found.metadata
        title = about.get("title") or about.get("source")
        return foreign_reference(
            found.page_content, title=title, score=about.get("score"), metadata=about
        )
    raise InputError(f"a reference is wanted, not {type(found).__name__}: give documents or texts")
