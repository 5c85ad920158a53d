"""What is sent to a LlamaIndex LLM for a prompt: as its own `predict` would send it.

An LLM's ``system_prompt`` comes first. Chat messages are the usual; a completion model that has a
``query_wrapper_prompt`` gets one text in it.

Example:
    >>> from llama_index.core.llms import MockLLM
    >>> prompt = Prompt("answer_directly", "Where?", "Where?", system="Be brief.")
    >>> [str(each) for each in messages_of(prompt, MockLLM(system_prompt="You are kind."))]
    ['system: You are kind.', 'system: Be brief.', 'user: Where?']
"""

from __future__ import annotations

from llama_index.core.base.llms.generic_utils import messages_to_prompt
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms import LLM

from skr_core.types import Prompt

_TURNS = (MessageRole.USER, MessageRole.ASSISTANT)


def messages_of(prompt: Prompt, llm: LLM) -> list[ChatMessage]:
    """What the LLM and the prompt say as the system, the earlier turns, and the prompt's text."""
    systems = [
        ChatMessage(text, role="system") for text in (llm.system_prompt, prompt.system) if text
    ]
    turns = [
        ChatMessage(turn, role=_TURNS[number % 2]) for number, turn in enumerate(prompt.history)
    ]
    return [*systems, *turns, ChatMessage(prompt.text, role=MessageRole.USER)]


def wrapped_text(prompt: Prompt, llm: LLM) -> str | None:
    """The text for a completion model with a wrapper; None for every other model."""
    if llm.query_wrapper_prompt is None or llm.metadata.is_chat_model:
        return None
    asked = prompt.text
    if prompt.history:
        asked = messages_to_prompt(messages_of(prompt, llm)[-1 - len(prompt.history) :])
    parts = (llm.system_prompt, prompt.system, asked)
    return llm.query_wrapper_prompt.format(query_str="\n\n".join(filter(None, parts)))
