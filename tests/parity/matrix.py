"""What an app carries through each drop-in: one cell for each, which names its tests or a refusal.

`docs/matrix.md` is written from it by `scripts/matrix.py`, and `test_matrix.py` holds it to
what it says: that the tests are there, sync and async, and that the refusals are raised. A new
drop-in's cells are None until they are filled, and fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

import langchain_skr
import llamaindex_skr
from skr_core.errors import InputError
from skr_core.testing import MappingRetriever, ScriptedModel


@dataclass(frozen=True)
class Shown:
    """It is carried, as tests show in both forms.

    Attributes:
        sync: The beginning of the ids of the tests that call.
        awaited: The same of those that await.
    """

    sync: str
    awaited: str


@dataclass(frozen=True)
class Refused:
    """It is refused at construction.

    Attributes:
        words: What the error says.
        options: The keyword that is refused, with a value.
        error: The class of the error.
    """

    words: str
    options: dict[str, Any] = field(hash=False)
    error: type[Exception] = InputError


@dataclass(frozen=True)
class NotApplicable:
    """There is nothing to carry.

    Attributes:
        why: The reason.
    """

    why: str


Cell = Shown | Refused | NotApplicable | None

_MODEL, _LIBRARY = ScriptedModel(), MappingRetriever({})


def _engine(**options: Any) -> llamaindex_skr.SKRQueryEngine:
    return llamaindex_skr.SKRQueryEngine.from_defaults(_LIBRARY, llm=_MODEL, **options)


LANGCHAIN: dict[str, Callable[..., object]] = {
    "create_skr_graph": lambda **given: langchain_skr.create_skr_graph(_MODEL, _LIBRARY, **given),
    "create_skr_chain": lambda **given: langchain_skr.create_skr_chain(_MODEL, _LIBRARY, **given),
    "create_skr_chain, with sources": lambda **given: langchain_skr.create_skr_chain(
        _MODEL, _LIBRARY, return_sources=True, **given
    ),
    "SKRRetriever": lambda **given: langchain_skr.SKRRetriever(retriever=_LIBRARY, **given),
    "SKRMiddleware": lambda **given: langchain_skr.SKRMiddleware(retriever=_LIBRARY, **given),
    "create_skr_tool": lambda **given: langchain_skr.create_skr_tool(_MODEL, _LIBRARY, **given),
}
LLAMAINDEX: dict[str, Callable[..., object]] = {
    "SKRQueryEngine": _engine,
    "SKRChatEngine": lambda **given: llamaindex_skr.SKRChatEngine.from_defaults(
        _LIBRARY, llm=_MODEL, **given
    ),
    "SKRRetriever": lambda **given: llamaindex_skr.SKRRetriever(_LIBRARY, **given),
    "SKRSelector": lambda **given: llamaindex_skr.SKRSelector("never", **given),
    "create_skr_tool": lambda **given: llamaindex_skr.create_skr_tool(_engine(), **given),
}
DROP_INS = {"LangChain": LANGCHAIN, "LlamaIndex": LLAMAINDEX}
"""How each is made, by its framework and its name."""

CARRIED = {
    "config": "the config of a run reaches retriever and model",
    "context": "the context of a run: the app's own, or one with another router or budget",
    "instructions": "an app's own words, before every prompt that asks for an answer",
    "variables": "the variables of a prompt template, filled for each run",
    "filters": "a filter of the retriever or the index holds in every search",
    "schema": "an answer in a schema of the app's own",
    "history": "messages of every kind before the question",
    "images": "images beside the question",
    "window": "the window that the model declares is kept to",
    "budget": "limits of a question are kept to",
    "callbacks": "callbacks, tracers or events see each call",
    "cache": "the framework's own cache of replies counts",
}

_OF_A_RUN = "LlamaIndex has none: `with_options` and a `ContextVar` hold what a request carries"
_GIVES_PASSAGES = NotApplicable("it gives passages, not an answer")
_CHOOSES = NotApplicable("it chooses, and gives no answer")
_FINDS_NOTHING = NotApplicable("it finds nothing")
_OF_THE_ENGINE = NotApplicable("the engine that it is made of has it")


def _unknown(option: str, value: Any = None, error: type[Exception] = TypeError) -> Refused:
    """A keyword that is not there: Python says so, or pydantic of LangChain's own class."""
    words = {
        TypeError: f"got an unexpected keyword argument '{option}'",
        ValidationError: "Extra inputs are not permitted",
    }
    return Refused(words[error], {option: value}, error)


def _both(test: str, sync: str = "sync", awaited: str = "async") -> Shown:
    """Tests whose ids differ in one place, which stands as ``{}``."""
    return Shown(f"tests/{test.format(sync)}", f"tests/{test.format(awaited)}")


_CONFIG = "langchain_skr/test_configs.py::test_the_retriever_reads_the_very_config"
_FILTER = "langchain_skr/test_configs.py::test_a_filter_is_chosen_by_the_config"
_REPLACED = (
    "langchain_skr/test_chain.py::"
    "test_a_run_s_config_replaces_router_budget_reflector_and_abstention[{}]"
)
_RUNS = "langchain_skr/test_runs.py::"
_CHOSEN = _RUNS + "test_configurable_fields_of_a_{}[{{}}]"
_WORDS = "parity/test_instructions.py::test_instructions_stand_before_every_answer"
_FILLED = "parity/test_variables.py::test_a_run_s_config_fills_a_prompt"
_ROUTES = "parity/test_variables.py::test_what_only_routes_looks_at_the_app_s_own_answer"
_EACH = (
    "parity/test_variables.py::test_llamaindex_s_templates_are_filled_for_each_question[{}-{{}}]"
)
_OBJECT = (
    "parity/test_schemas.py::test_each_drop_in_gives_the_object_and_one_call_is_made"
    "[{}-Capital-right0"
)
_WINDOW = "parity/test_windows.py::test_no_prompt_is_longer_than_what_is_declared"
_LIMITS = "parity/test_budgets.py::test_limits_end_a_question"
_CACHED = _RUNS + "test_langchain_s_own_cache_counts"
_IMAGES = "parity/test_images.py::test_an_image_of_the_question_reaches_the_model"
_EVENTS = "parity/test_configs.py::test_all_that_a_run_asks_has_its_config"
_DOORS = {
    "create_skr_graph": "graph",
    "create_skr_chain": "chain",
    "create_skr_chain, with sources": "sourced chain",
    "SKRRetriever": "retriever",
    "SKRMiddleware": "middleware",
    "create_skr_tool": "tool",
}
"""The doors of `tenants.py` by which tests go in."""

OF_LANGCHAIN: dict[str, dict[str, Cell]] = {
    "config": {name: _both(f"{_CONFIG}[{door}-function-{{}}]") for name, door in _DOORS.items()},
    "context": {
        "create_skr_graph": _both(
            "skr_graphs/test_in_langgraph.py::test_a_parent_passes_ours_on_within_its_own[{}]"
        ),
        "create_skr_chain": _both(_REPLACED, "invoke", "ainvoke"),
        "create_skr_chain, with sources": _both(_CHOSEN.format("chain")),
        "SKRRetriever": _both(_CHOSEN.format("retriever")),
        "SKRMiddleware": _both(
            "parity/test_contexts.py::"
            "test_the_context_of_a_parent_is_seen_within_ours_and_behind_it[{}-middleware]"
        ),
        "create_skr_tool": _both("parity/test_contexts.py::test_a_subclass_is_passed_on[{}-tool]"),
    },
    "instructions": {
        **{name: _both(f"{_WORDS}[{door}-{{}}]") for name, door in _DOORS.items()},
        "SKRRetriever": _both(f"{_ROUTES}[langchain-{{}}]"),
        "SKRMiddleware": _both(
            "langchain_skr/test_model_call.py::"
            "test_the_agent_s_system_prompt_stands_before_every_call[{}]"
        ),
    },
    "variables": {
        **{name: _both(f"{_FILLED}[{door}-{{}}]") for name, door in _DOORS.items()},
        "SKRRetriever": _both(f"{_ROUTES}[langchain-{{}}]"),
        "SKRMiddleware": _both(
            "parity/test_variables.py::test_an_agent_s_own_prompt_is_filled_by_its_context[{}]"
        ),
    },
    "filters": {name: _both(f"{_FILTER}[{door}-{{}}]") for name, door in _DOORS.items()},
    "schema": {
        "create_skr_graph": _both(f"{_OBJECT}-in_graph]"),
        "create_skr_chain": _both(f"{_OBJECT}-in_chain]"),
        "create_skr_chain, with sources": _both(f"{_OBJECT}-in_sources_chain]"),
        "SKRRetriever": _GIVES_PASSAGES,
        "SKRMiddleware": _both(
            "parity/test_schemas.py::test_an_agent_with_the_middleware_gives_its_own_objects[{}-"
        ),
        "create_skr_tool": _both(f"{_OBJECT}-in_tool]"),
    },
    "history": {
        "create_skr_graph": _both(
            "skr_graphs/test_conversation.py::test_a_conversation_as_input[{}-"
        ),
        "create_skr_chain": _both(
            "langchain_skr/test_conversation.py::test_a_conversation_as_input[{}-",
            "invoke",
            "ainvoke",
        ),
        "create_skr_chain, with sources": _both(
            "langchain_skr/test_conversation.py::test_a_history_around_a_chain_with_sources[{}]",
            "invoke",
            "ainvoke",
        ),
        "SKRRetriever": NotApplicable("it is asked with a query"),
        "SKRMiddleware": _both(
            "langchain_skr/test_conversation.py::test_an_agent_s_middleware_searches_what_is_meant"
            "[{}]",
            "invoke",
            "ainvoke",
        ),
        "create_skr_tool": NotApplicable("an agent calls it with a question that stands alone"),
    },
    "images": {
        **{
            name: _both(f"{_IMAGES}[{door}-standard-{{}}]", "invoke", "ainvoke")
            for name, door in zip(_DOORS, ("graph", "chain", "sources"), strict=False)
        },
        "SKRRetriever": NotApplicable("it is asked with a query"),
        "SKRMiddleware": _both(
            "parity/test_images.py::test_an_agent_s_system_message_and_images_are_its_own[{}]",
            "invoke",
            "ainvoke",
        ),
        "create_skr_tool": NotApplicable("an agent calls it with a question that stands alone"),
    },
    "window": {
        **{name: _both(f"{_WINDOW}[{door}-all-{{}}]") for name, door in _DOORS.items()},
        "SKRRetriever": _both(f"{_WINDOW}[looping retriever-all-{{}}]"),
    },
    "budget": {
        "create_skr_graph": _both(f"{_LIMITS}[graph-{{}}]"),
        "create_skr_chain": _both(_REPLACED, "invoke", "ainvoke"),
        "create_skr_chain, with sources": _both(_CHOSEN.format("chain")),
        "SKRRetriever": _both(
            "langchain_skr/test_retriever.py::"
            "test_self_completion_is_within_the_budget_and_asks_for_no_last_answer[{}]",
            "invoke",
            "ainvoke",
        ),
        "SKRMiddleware": _both(
            "langchain_skr/test_model_call.py::test_the_last_call_is_made_without_tools[{}]"
        ),
        "create_skr_tool": _both(f"{_LIMITS}[tool-{{}}]"),
    },
    "callbacks": {
        name: _both(f"{_EVENTS}[{door}-{{}}]", "invoke", "ainvoke") for name, door in _DOORS.items()
    },
    "cache": {
        "create_skr_chain": _both(
            "langchain_skr/test_models.py::"
            "test_what_langchains_own_cache_replied_is_counted_apart[{}]",
            "False",
            "True",
        ),
        "create_skr_chain, with sources": _both(
            _RUNS + "test_a_cached_reply_costs_nothing_in_any_chain[{}]"
        ),
        "create_skr_graph": _both(f"{_CACHED}[{{}}-graph]"),
        "SKRRetriever": _both(
            _RUNS + "test_what_the_cache_replied_leaves_a_retriever_s_budget_whole[{}]"
        ),
        "SKRMiddleware": _both(f"{_CACHED}[{{}}-middleware]"),
        "create_skr_tool": _both(f"{_CACHED}[{{}}-tool]"),
    },
}
_FILTERED = (
    "llamaindex_skr/test_options.py::test_filters_of_a_request_reach_every_retriever[{{}}-index-{}]"
)
_OPTIONS = "llamaindex_skr/test_options.py::test_numbers_limits_and_routers_of_a_request[{}]"
_RESPONSES = "llamaindex_skr/test_runs.py::test_a_handler_sees_each_call_once[{}]"
_OTHERS = "llamaindex_skr/test_runs.py::test_a_handler_sees_each_call_of_the_others_once"
OF_LLAMAINDEX: dict[str, dict[str, Cell]] = {
    "config": dict.fromkeys(LLAMAINDEX, NotApplicable(_OF_A_RUN)),
    "context": {
        **dict.fromkeys(LLAMAINDEX, NotApplicable(_OF_A_RUN)),
        "SKRQueryEngine": _both(_OPTIONS),
        "SKRChatEngine": _both(_OPTIONS),
        "SKRRetriever": _both(_OPTIONS),
        "SKRSelector": NotApplicable("it is asked with choices and a question alone"),
        "create_skr_tool": _OF_THE_ENGINE,
    },
    "instructions": {
        "SKRQueryEngine": _both(f"{_WORDS}[engine-{{}}]"),
        "SKRChatEngine": _both(f"{_WORDS}[chat-{{}}]"),
        "SKRRetriever": _both(f"{_ROUTES}[llamaindex-{{}}]"),
        "SKRSelector": _unknown("instructions", "Be brief."),
        "create_skr_tool": _both(f"{_WORDS}[engine tool-{{}}]"),
    },
    "variables": {
        "SKRQueryEngine": _both(_EACH.format("SKRQueryEngine")),
        "SKRChatEngine": _both(_EACH.format("SKRChatEngine")),
        "SKRRetriever": _both(f"{_ROUTES}[llamaindex-{{}}]"),
        "SKRSelector": _CHOOSES,
        "create_skr_tool": _OF_THE_ENGINE,
    },
    "filters": {
        "SKRQueryEngine": _both(_FILTERED.format("query")),
        "SKRChatEngine": _both(_FILTERED.format("chat")),
        "SKRRetriever": _both(_FILTERED.format("looping retriever")),
        "SKRSelector": _FINDS_NOTHING,
        "create_skr_tool": _OF_THE_ENGINE,
    },
    "schema": {
        "SKRQueryEngine": _both(f"{_OBJECT}-in_engine]"),
        "SKRChatEngine": _both(f"{_OBJECT}-in_chat_engine]"),
        "SKRRetriever": _GIVES_PASSAGES,
        "SKRSelector": _CHOOSES,
        "create_skr_tool": _OF_THE_ENGINE,
    },
    "history": {
        "SKRQueryEngine": Refused(
            "SKRChatEngine.from_defaults(...) converses", {"chat_history": []}, TypeError
        ),
        "SKRChatEngine": _both(
            "parity/test_memory.py::test_every_role_and_block_of_llamaindex_is_read[{}]",
            "chat",
            "achat",
        ),
        "SKRRetriever": NotApplicable("it is asked with a query"),
        "SKRSelector": NotApplicable("it is asked with a query"),
        "create_skr_tool": NotApplicable("an agent calls it with a question that stands alone"),
    },
    "images": {
        "SKRQueryEngine": _both(
            "parity/test_images.py::test_a_query_s_image_reaches_the_llm[{}]", "query", "aquery"
        ),
        "SKRChatEngine": _both(
            "parity/test_images.py::test_an_llm_of_llamaindex_gets_image_blocks[{}]",
            "chat",
            "achat",
        ),
        "create_skr_tool": NotApplicable("an agent calls it with a question that stands alone"),
        "SKRRetriever": NotApplicable("it is asked with a query"),
        "SKRSelector": NotApplicable("it is asked with a query"),
    },
    "window": {
        "SKRQueryEngine": _both(f"{_WINDOW}[engine-all-{{}}]"),
        "SKRChatEngine": _both(f"{_WINDOW}[chat-all-{{}}]"),
        "SKRRetriever": _both(f"{_WINDOW}[looping retriever of llamaindex-all-{{}}]"),
        "SKRSelector": _CHOOSES,
        "create_skr_tool": _OF_THE_ENGINE,
    },
    "budget": {
        "SKRQueryEngine": _both(
            "parity/test_one_answer.py::test_both_plugins_agree_at_a_limit[{}-one round]"
        ),
        "SKRChatEngine": _both(
            "llamaindex_skr/test_chat_engine.py::test_the_budget_bounds_the_turns[{}]",
            "chat",
            "achat",
        ),
        "SKRRetriever": _both(f"{_LIMITS}[retriever of llamaindex-{{}}]"),
        "SKRSelector": _unknown("budget"),
        "create_skr_tool": _OF_THE_ENGINE,
    },
    "callbacks": {
        "SKRQueryEngine": _both(_RESPONSES, "query", "aquery"),
        "SKRChatEngine": _both(f"{_OTHERS}[chat-{{}}]"),
        "SKRRetriever": _both(f"{_OTHERS}[retriever-{{}}]"),
        "SKRSelector": _both(f"{_OTHERS}[selector-{{}}]"),
        "create_skr_tool": _OF_THE_ENGINE,
    },
    "cache": dict.fromkeys(LLAMAINDEX, NotApplicable("LlamaIndex has no cache of replies")),
}
_OF = {"LangChain": OF_LANGCHAIN, "LlamaIndex": OF_LLAMAINDEX}

CELLS: dict[tuple[str, str, str], Cell] = {
    (framework, drop_in, carried): _OF[framework][carried].get(drop_in)
    for framework, drop_ins in DROP_INS.items()
    for drop_in in drop_ins
    for carried in CARRIED
}
"""Each cell, by framework, drop-in and what is carried."""
