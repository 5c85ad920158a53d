"""SKRChatEngine: the state machine as a LlamaIndex chat engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.callbacks import CallbackManager, trace_method
from llama_index.core.chat_engine.types import AgentChatResponse, BaseChatEngine
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import QueryType
from llama_index.core.vector_stores.types import MetadataFilters
from pydantic import BaseModel

from llamaindex_skr.llms import ModelLike
from llamaindex_skr.messages import as_history, image_blocks
from llamaindex_skr.options import OptionsOfRequests
from llamaindex_skr.prompts import InstructionsLike
from llamaindex_skr.query_engine import as_bundle, as_schema, engine_parts
from llamaindex_skr.responses import (
    SKRStreamingChatResponse,
    astream_chat_response,
    stream_chat_response,
    to_chat_response,
)
from llamaindex_skr.runs import GraphRun
from llamaindex_skr.sources import RetrieverLike
from skr_core import Budget, PromptTemplates, settings
from skr_core.errors import InputError
from skr_core.flow import Flow, arun, call, run
from skr_core.ports import AnswerArbiter, ReferenceStore
from skr_core.replies.queries import AllowQuery
from skr_core.types import Demonstration
from skr_graphs import SKRContext

if TYPE_CHECKING:
    from skr_graphs import CompiledGraph

_NUMBER = "similarity_top_k is the number of nodes that an index finds"
_WORDS = (
    "the words before every answer are instructions=..., those of the prompts "
    "templates=PromptTemplates(...)"
)
_CONDENSES = (
    "only a message that leans on earlier ones is rewritten; the words that ask for it are "
    "templates=PromptTemplates(condense=...)"
)


class SKRChatEngine(OptionsOfRequests, BaseChatEngine):
    """Answers in a conversation, retrieving only when needed and until the references suffice.

    A message that leans on earlier ones is rewritten without them, with one call, before it is
    routed and searched; the model is shown the latest turns that fit ``Budget.max_history_tokens``.
    System messages of the memory, such as its blocks or a summary, stand before every answer as
    instructions do; what tools said stands in the assistant's turns, and images are sent along.
    A response's ``source_nodes`` and ``metadata`` are those of `SKRQueryEngine`. A failure leaves
    the memory as it was.

    Args:
        graph: A compiled self-completion graph, without a checkpointer: the memory is here.
        memory: The memory of the conversation; by default one that forgets nothing. The sync calls
            of LlamaIndex's ``Memory`` start an event loop of their own.
        context: The settings of every run that differ from the graph's own.
        callback_manager: The callback manager of LlamaIndex.

    Raises:
        InputError: The graph is no compiled graph, or the memory is none of LlamaIndex; while
            chatting: a message of the memory holds audio, a video or a document.

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
        self._use_graph(graph)
        self._memory = _memory_of([]) if memory is None else _checked_memory(memory)
        self._context = context or SKRContext()
        self.callback_manager = callback_manager or CallbackManager([])

    @classmethod
    @settings.hinting(
        k=_NUMBER,
        top_k=_NUMBER,
        prompt=_WORDS,
        text_qa_template=_WORDS,
        context_prompt=_WORDS,
        context_template=_WORDS,
        prefix_messages=_WORDS,
        condense_prompt=_CONDENSES,
        skip_condense=_CONDENSES,
        chat_mode="there is one: a message that leans on earlier ones is rewritten, then routed",
        streaming="stream_chat(...) streams, and chat(...) does not",
        verbose="LlamaIndex's handlers are told of each step, see llamaindex_skr.SKREvent",
    )
    def from_defaults(
        cls,
        retriever: RetrieverLike | None = None,
        llm: ModelLike | None = None,
        *,
        chat_history: Sequence[ChatMessage] | None = None,
        memory: BaseMemory | None = None,
        system_prompt: str | None = None,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
        callback_manager: CallbackManager | None = None,
        router: settings.RouterLike | None = None,
        reflector: settings.ReflectorLike | None = None,
        reference_store: ReferenceStore | None = None,
        scope: str | Callable[[], str] | None = None,
        ttl: float | None = None,
        budget: Budget | None = None,
        when_insufficient: settings.WhenInsufficient | None = None,
        on_retriever_error: settings.OnRetrieverError | None = None,
        demonstrations: Sequence[Demonstration] | None = None,
        templates: PromptTemplates | None = None,
        instructions: InstructionsLike | None = None,
        decompose: bool | None = None,
        metadata_keys: Sequence[str] | None = None,
        arbiter: AnswerArbiter | None = None,
        response_format: settings.SchemaLike | None = None,
        abstain_below: float | None = None,
        abstention: str | None = None,
        allow_query: AllowQuery | None = None,
        output_cls: type[BaseModel] | None = None,
    ) -> SKRChatEngine:
        """Build the engine over LlamaIndex objects.

        All arguments but three are those of `SKRQueryEngine.from_defaults`.

        Args:
            chat_history: The messages before the first one.
            memory: The memory that holds the messages, in place of a history.
            system_prompt: The name that LlamaIndex's chat engines have for `instructions`.

        Raises:
            InputError: The model, the retriever, a setting or the history is not usable, a history
                is given beside a memory, or a system prompt beside instructions.
        """
        if system_prompt is not None and instructions is not None:
            raise InputError("system_prompt and instructions are the same: give one of them")
        if memory is not None and chat_history:
            raise InputError(
                "give chat_history or memory, not both: a memory holds its own history"
            )
        parts = engine_parts(
            retriever,
            llm,
            similarity_top_k=similarity_top_k,
            filters=filters,
            node_postprocessors=node_postprocessors,
            streaming=True,
            callback_manager=callback_manager,
            options={
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
                "instructions": instructions if system_prompt is None else system_prompt,
                "decompose": decompose,
                "metadata_keys": metadata_keys,
                "arbiter": arbiter,
                "response_format": as_schema(response_format, output_cls),
                "abstain_below": abstain_below,
                "abstention": abstention,
                "allow_query": allow_query,
            },
        )
        engine = cls(
            parts.factory().compile(name="skr"),
            _memory_of(chat_history or []) if memory is None else memory,
            parts.context,
            callback_manager=parts.callback_manager,
        )
        engine._factory, engine._source = parts.factory, parts.source
        return engine

    def with_memory(self, memory: BaseMemory) -> Self:
        """Return an engine for another conversation, which runs the same compiled graph.

        An engine of ``with_options`` goes on in the same conversation: for another user's request
        give it that user's memory too.

        Args:
            memory: The memory of that conversation.

        Example:
            >>> from skr_core.routers import NeverRetrieve
            >>> engine = SKRChatEngine.from_defaults(llm="extractive", router=NeverRetrieve())
            >>> of_amber = engine.with_memory(ChatMemoryBuffer.from_defaults(token_limit=3000))
            >>> _ = of_amber.chat("Hello!")
            >>> len(of_amber.chat_history), len(engine.chat_history)
            (2, 0)
        """
        made = self.with_options()
        made._memory = _checked_memory(memory)
        return made

    @property
    def chat_history(self) -> list[ChatMessage]:
        """All messages of the conversation."""
        return self._memory.get_all()

    def reset(self) -> None:
        """Forget all messages."""
        self._memory.reset()

    @trace_method("chat")
    def chat(
        self, message: QueryType, chat_history: list[ChatMessage] | None = None
    ) -> AgentChatResponse:
        """Answer a message; a history that is given takes the place of the memory's."""
        graph_run = run(self._run(message, chat_history, stream=False))
        answer = graph_run.complete()
        run(self._remember(message, answer.text, chat_history))
        return to_chat_response(str(message), answer, graph_run.response_format)

    @trace_method("chat")
    async def achat(
        self, message: QueryType, chat_history: list[ChatMessage] | None = None
    ) -> AgentChatResponse:
        """Async version of `chat`."""
        graph_run = await arun(self._run(message, chat_history, stream=False))
        answer = await graph_run.acomplete()
        await arun(self._remember(message, answer.text, chat_history))
        return to_chat_response(str(message), answer, graph_run.response_format)

    @trace_method("chat")
    def stream_chat(
        self, message: QueryType, chat_history: list[ChatMessage] | None = None
    ) -> SKRStreamingChatResponse:
        """Answer a message token by token; the memory has the answer once all are read."""
        graph_run = run(self._run(message, chat_history, stream=True))
        history = None if chat_history is None else [*chat_history]  # which its owner may change
        return stream_chat_response(
            str(message), graph_run, lambda text: run(self._remember(message, text, history))
        )

    @trace_method("chat")
    async def astream_chat(
        self, message: QueryType, chat_history: list[ChatMessage] | None = None
    ) -> SKRStreamingChatResponse:
        """Async version of `stream_chat`."""
        graph_run = await arun(self._run(message, chat_history, stream=True))
        history = None if chat_history is None else [*chat_history]  # which its owner may change
        return await astream_chat_response(
            str(message), graph_run, lambda text: arun(self._remember(message, text, history))
        )

    def _run(
        self, message: QueryType, chat_history: list[ChatMessage] | None, *, stream: bool
    ) -> Flow[GraphRun]:
        bundle = as_bundle(message)
        before = yield from self._before(str(message), chat_history)
        return GraphRun(
            self._graph,
            str(message),  # the text of a bundle
            self._context_of(bundle),
            history=as_history(before),
            images=image_blocks(message),
            stream=stream,
        )

    def _before(self, asked: str, given: list[ChatMessage] | None) -> Flow[list[ChatMessage]]:
        """The messages that the memory shows, or would show if it held those that are given."""
        memory = self._memory
        if given is None:
            return (yield from call(memory.get, memory.aget, input=asked))
        _check(given)
        kept = yield from call(memory.get_all, memory.aget_all)
        try:
            yield from call(memory.set, memory.aset, [*given])
            return (yield from call(memory.get, memory.aget, input=asked))
        finally:  # there is no answer yet, and none may come
            yield from call(memory.set, memory.aset, kept)

    def _remember(
        self, message: QueryType, answer: str, history: list[ChatMessage] | None
    ) -> Flow[None]:
        memory = self._memory
        if history is not None:
            yield from call(memory.set, memory.aset, [*history])
        exchange = [
            ChatMessage(str(message), role=MessageRole.USER),
            ChatMessage(answer, role=MessageRole.ASSISTANT),
        ]
        yield from call(memory.put_messages, memory.aput_messages, exchange)


settings.answerer_of.register(SKRChatEngine)(SKRChatEngine._answerer)


def _memory_of(history: Sequence[ChatMessage]) -> ChatMemoryBuffer:
    _check(history)
    # The budget decides how much of it the model is shown.
    return ChatMemoryBuffer.from_defaults(chat_history=list(history), token_limit=sys.maxsize)


def _checked_memory(memory: BaseMemory) -> BaseMemory:
    given: object = memory  # callers without a type checker may give anything
    if not isinstance(given, BaseMemory):
        raise InputError(f"a memory of LlamaIndex is wanted, not {type(given).__name__}")
    return memory


def _check(history: Sequence[object]) -> None:
    for each in history:
        if not isinstance(each, ChatMessage):
            given = type(each).__name__
            raise InputError(f"chat_history holds {given}: give a list of ChatMessage")
