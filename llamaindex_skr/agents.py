"""FunctionAgentAnswerer: an agent of LlamaIndex with our tool as what `acollect` asks.

Its model, prompt and other tools are its own. It is asked without our tool, and made to call it
first; the tool then answers as its engine does, whatever the engine's own router would say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.agent.workflow import AgentInput, AgentOutput, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.tools import FunctionTool

from llamaindex_skr.llms import LlamaIndexReply, as_language_model
from llamaindex_skr.tool import SKRTool
from skr_core.budget import estimate_usage
from skr_core.errors import InputError, ModelError, RetrieverError, translated
from skr_core.references.citations import (
    free_numbers,
    number_sources,
    resolve_citations,
    text_with_sources,
)
from skr_core.replies.opening import strip_thoughts
from skr_core.replies.refusals import is_refusal
from skr_core.settings import ActionAnswerer, Settings, answerer_of
from skr_core.types import NO_USAGE, Action, Answer, Decision, Generation, Prompt

NO_SYNC = "a FunctionAgent has no sync form: collect over it with acollect, or ask it with aanswer"


class FunctionAgentAnswerer:
    """Answers with a `FunctionAgent`: without our tool, and with it.

    Args:
        agent: The agent, with one tool of `create_skr_tool`.

    Raises:
        InputError: It is another agent or workflow, or has no such tool, or several.
    """

    def __init__(self, agent: object) -> None:
        tools: list[Any] = list(agent.tools or ()) if isinstance(agent, FunctionAgent) else []
        ours = [each for each in tools if isinstance(each, SKRTool)]
        if not isinstance(agent, FunctionAgent) or len(ours) != 1:
            raise InputError(
                f"{type(agent).__name__} cannot be asked by each action: give a FunctionAgent that "
                "has one tool of create_skr_tool"
            )
        self._agent, self._tool = agent, ours[0]
        self._others = [each for each in tools if each is not ours[0]]
        self._library: ActionAnswerer = answerer_of(self._tool.engine)

    @property
    def settings(self) -> Settings:
        """The settings of the tool's engine, with the agent's model and words."""
        names = [each.metadata.get_name() for each in (self._tool, *self._others)]
        return self._library.settings.but(
            model=as_language_model(self._agent.llm),
            instructions="\n".join([self._agent.system_prompt or "", *names]),
        )

    def answer(self, question: str, action: Action | None = None) -> Answer:
        """Refuse: the agent can only be awaited."""
        raise InputError(NO_SYNC)

    def answer_each(self, question: str, **_: Any) -> Mapping[Action, Answer]:
        """Refuse: the agent can only be awaited."""
        raise InputError(NO_SYNC)

    async def aanswer(self, question: str, action: Action | None = None) -> Answer:
        """Answer without the tool, with it, or as the agent itself decides."""
        return await self._answer(question, action)

    async def aanswer_each(
        self,
        question: str,
        *,
        history: Sequence[tuple[str, str]] = (),
        config: Mapping[str, Any] | None = None,
    ) -> Mapping[Action, Answer]:
        """Answer by each action, ``direct`` and ``loop``; a config is nothing that it could take.

        Raises:
            ModelError: The agent failed.
            RetrieverError: The search failed.
        """
        direct = await self._answer(question, "direct", history)
        return {"direct": direct, "loop": await self._answer(question, "loop", history)}

    async def _answer(
        self, question: str, action: Action | None, history: Sequence[tuple[str, str]] = ()
    ) -> Answer:
        answers: list[Answer] = []
        failures: list[RetrieverError] = []
        numbers: dict[str, int] = {}

        async def ask(input: str = "") -> str:
            try:
                answers.append(await self._library.aanswer(input, action))
            except RetrieverError as failure:  # which the agent's workflow would keep to itself
                failures.append(failure)
                raise
            free = free_numbers(after=max(numbers.values(), default=0))
            numbers.update(number_sources(answers[-1], numbers, free))
            return text_with_sources(answers[-1], numbers)

        tool = FunctionTool.from_defaults(async_fn=ask, tool_metadata=self._tool.metadata)
        update: dict[str, Any] = {"tools": [*self._others, tool]}
        if action == "direct":
            update["tools"] = self._others
        elif action is not None:
            update["initial_tool_choice"] = self._tool.metadata.get_name()
        turns = [ChatMessage(text, role=role) for role, text in history]
        with translated(ModelError, "the agent"):
            said = await _said(self._agent.model_copy(update=update), question, turns)
        if failures:
            raise failures[0]
        found = {each.id: each for answer in answers for each in answer.references}
        references = tuple(found[key] for key in numbers)
        cited = resolve_citations(said.text, references)
        grounded = bool(cited.citations) and not is_refusal(cited.text)
        usage = {"agent": said.usage, "tool": sum((a.total_usage for a in answers), NO_USAGE)}
        return Answer(
            question=question,
            text=cited.text,
            citations=cited.citations,
            references=references,
            decision=Decision(bool(answers) or action not in (None, "direct")),
            rounds=tuple(round_ for answer in answers for round_ in answer.rounds),
            stop_reason=answers[-1].stop_reason if answers else "known",
            usage=usage,
            removed_markers=cited.removed,
            logprob=None if answers else said.mean_logprob,
            grounded=grounded,
        )


async def _said(agent: FunctionAgent, question: str, turns: Sequence[ChatMessage]) -> Generation:
    """The agent's answer, with the usage of all its calls."""
    usage, last = NO_USAGE, Generation("")
    sent: Sequence[ChatMessage] = ()
    handler = agent.run(user_msg=question, chat_history=list(turns))
    async for event in handler.stream_events():
        if isinstance(event, AgentInput):
            sent = event.input
        elif isinstance(event, AgentOutput):
            reply = LlamaIndexReply("the agent", None)
            reply.add(ChatResponse(message=event.response, raw=event.raw))
            text = strip_thoughts(event.response.content or "")
            prompt = Prompt("answer_directly", "", "\n".join(each.content or "" for each in sent))
            usage += reply.usage or estimate_usage(prompt, text)
            last = Generation(text, logprobs=tuple(reply.logprobs) or None)
    output = await handler
    return replace(last, text=strip_thoughts(str(output)), usage=usage)
