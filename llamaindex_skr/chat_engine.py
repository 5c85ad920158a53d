"""SKRChatEngine: the state machine as a LlamaIndex chat engine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.callbacks import CallbackManager, trace_method
from llama_index.core.chat_engine.types import AgentChatResponse, BaseChatEngine
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer
from llama_index.core.schema import QueryType
from llama_index.core.tools import ToolOutput
from typing_extensions import Unpack

from llamaindex_skr import advice
from llamaindex_skr.adapters import ModelLike, RetrieverLike
from llamaindex_skr.chat_responses import (
    SKRStreamingChatResponse,
    astream_chat_response,
    stream_chat_response,
)
from llamaindex_skr.graph_run import GraphRun
from llamaindex_skr.query_engine import SKRQueryEngine
from llamaindex_skr.remaking import RemadeGraph
from llamaindex_skr.responses import to_response
from skr_core.errors import InputError
from skr_core.flow import Flow, arun, call, run
from skr_core.options import SettingsOptions, refuse_unknown
from skr_core.types import Answer
from skr_graphs.context import SKRContext

if TYPE_CHECKING:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.vector_stores.types import MetadataFilters

    from skr_graphs import CompiledGraph

_OPTIONS = {
    *("retriever", "llm", "chat_history", "memory", "similarity_top_k", "filters"),
    *("node_postprocessors", "callback_manager", *SettingsOptions.__annotations__),
}
_ROLES = (MessageRole.USER, MessageRole.ASSISTANT)


class SKRChatEngine(RemadeGraph, BaseChatEngine):
    """Answers in a conversation, retrieving only when needed and until the references suffice.

    A message that leans on earlier ones is rewritten without them, with one call, before it is
    routed and searched; the model is shown the latest turns that fit ``Budget.max_history_tokens``.
    A response's ``source_nodes`` and ``metadata`` are those of `SKRQueryEngine`. What fails leaves
    the memory as it was.

    Args:
        graph: A compiled self-completion graph, without a checkpointer: the memory is here.
        memory: Of the conversation; by default one that forgets nothing. Blocking calls of
            LlamaIndex's ``Memory`` start an event loop of their own.
        context: Of every run; what it leaves open is the graph's own.
        callback_manager: LlamaIndex's.

    Raises:
        InputError: The graph is none, or the memory.

    Example:
        >>> from skr_core.testing import MappingRetriever, ScriptedModel
        >>> engine = SKRChatEngine.from_defaults(
        ...     MappingRetriever({"Capital of France?": ["Paris is the capital."]}),
        ...     llm=ScriptedModel(["Paris [1]."]),
        ... )
        >>> response = engine.chat("Capital of France?")
        >>> response.response, response.metadata["grounded"]
        ('Paris [1].', True)
        >>> [message.role.value for message in engine.chat_history]
        ['user', 'assistant']
    """

    def __init__(
        self,
        graph: CompiledGraph,
        memory: BaseMemory | None = None,
        context: SKRContext | None = None,
        *,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        self._use(graph)
        given: object = memory
        if not isinstance(given, BaseMemory | None):
            raise InputError(f"a memory of LlamaIndex is wanted, not {type(given).__name__}")
        self._memory = _memory([]) if memory is None else memory
        self._context = context or SKRContext()
        self.callback_manager = callback_manager or CallbackManager([])

    @classmethod
    def from_defaults(
        cls,
        retriever: RetrieverLike | None = None,
        *,
        llm: ModelLike | None = None,
        chat_history: Sequence[ChatMessage] | None = None,
        memory: BaseMemory | None = None,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
        callback_manager: CallbackManager | None = None,
        **options: Unpack[SettingsOptions],
    ) -> SKRChatEngine:
        """Build the engine over LlamaIndex objects.

        Args:
            retriever: As for `SKRQueryEngine.from_defaults`.
            llm: As for `SKRQueryEngine.from_defaults`.
            chat_history: What was said before.
            memory: In place of it: a memory that holds what was said.
            similarity_top_k: As for `SKRQueryEngine.from_defaults`.
            filters: As for `SKRQueryEngine.from_defaults`.
            node_postprocessors: As for `SKRQueryEngine.from_defaults`.
            callback_manager: LlamaIndex's; ``Settings.callback_manager`` where none is given.
            **options: The other settings, as for `SKRQueryEngine.from_defaults`.

        Raises:
            InputError: The model, the retriever or the history is not usable, or a history is given
                beside a memory.
            OptionError: There is no option of a name that was given.
        """
        refuse_unknown("SKRChatEngine", options, _OPTIONS, advice.CHAT)
        if memory is not None and chat_history:
            raise InputError(
                "give chat_history or memory, not both: a memory holds its own history"
            )
        engine = SKRQueryEngine.from_defaults(
            retriever,
            llm=llm,
            similarity_top_k=similarity_top_k,
            filters=filters,
            node_postprocessors=node_postprocessors,
            streaming=True,
            callback_manager=callback_manager,
            **options,
        )
        chat = cls(
            engine._graph,
            _memory(chat_history or []) if memory is None else memory,
            engine._context,
            callback_manager=engine.callback_manager,
        )
        chat._factory = engine._factory
        return chat

    @property
    def chat_history(self) -> list[ChatMessage]:
        """All that was said."""
        return self._memory.get_all()

    def reset(self) -> None:
        """Forget all that was said."""
        self._memory.reset()

    @trace_method("chat")
    def chat(
        self, message: QueryType, chat_history: list[ChatMessage] | None = None
    ) -> AgentChatResponse:
        """Answer a message; a history that is given takes the place of the memory's."""
        graph_run = run(self._run(message, chat_history, stream=False))
        answer = graph_run.complete()
        self._memory.put_messages(_exchange(message, answer.text))
        return _response(message, answer)

    @trace_method("chat")
    async def achat(
        self, message: QueryType, chat_history: list[ChatMessage] | None = None
    ) -> AgentChatResponse:
        """The same, awaited."""
        graph_run = await arun(self._run(message, chat_history, stream=False))
        answer = await graph_run.acomplete()
        await self._memory.aput_messages(_exchange(message, answer.text))
        return _response(message, answer)

    @trace_method("chat")
    def stream_chat(
        self, message: QueryType, chat_history: list[ChatMessage] | None = None
    ) -> SKRStreamingChatResponse:
        """Answer a message with the final answer's tokens; the memory has it when they are read."""
        graph_run = run(self._run(message, chat_history, stream=True))
        memory = self._memory
        return stream_chat_response(
            graph_run, lambda text: memory.put_messages(_exchange(message, text))
        )

    @trace_method("chat")
    async def astream_chat(
        self, message: QueryType, chat_history: list[ChatMessage] | None = None
    ) -> SKRStreamingChatResponse:
        """The same, awaited."""
        graph_run = await arun(self._run(message, chat_history, stream=True))
        memory = self._memory
        return await astream_chat_response(
            graph_run, lambda text: memory.aput_messages(_exchange(message, text))
        )

    def _run(
        self, message: QueryType, chat_history: list[ChatMessage] | None, *, stream: bool
    ) -> Flow[GraphRun]:
        memory, asked = self._memory, str(message)  # of a bundle, its words
        if chat_history is not None:
            _check(chat_history)
            yield from call(memory.set, memory.aset, chat_history)
        before = yield from call(memory.get, memory.aget, input=asked)
        history = [
            {"role": each.role.value, "content": each.content}
            for each in before
            if each.role in _ROLES and each.content
        ]
        return GraphRun(self._graph, asked, self._context, history=history, stream=stream)


def _memory(history: Sequence[ChatMessage]) -> ChatMemoryBuffer:
    _check(history)
    # The budget says how much of it is shown.
    return ChatMemoryBuffer.from_defaults(chat_history=list(history), token_limit=sys.maxsize)


def _check(history: Sequence[object]) -> None:
    for each in history:
        if not isinstance(each, ChatMessage):
            given = type(each).__name__
            raise InputError(f"chat_history holds {given}: give a list of ChatMessage")


def _exchange(message: QueryType, answer: str) -> list[ChatMessage]:
    return [
        ChatMessage(str(message), role=MessageRole.USER),
        ChatMessage(answer, role=MessageRole.ASSISTANT),
    ]


def _response(message: QueryType, answer: Answer) -> AgentChatResponse:
    response = to_response(answer)
    source: Any = ToolOutput(
        content=answer.text,
        tool_name="query_engine",
        raw_input={"query": str(message)},
        raw_output=response,
    )
    return AgentChatResponse(
        answer.text, [source], response.source_nodes, metadata=response.metadata
    )
