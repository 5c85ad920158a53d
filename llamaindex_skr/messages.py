"""LlamaIndex's chat messages as the graph takes a conversation: roles, texts and images.

Example:
    >>> as_history([ChatMessage("Be brief.", role="system"), ChatMessage("Where?")])
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Where?'}, \
{'role': 'assistant', 'content': '…'}]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import (
    AudioBlock,
    BaseContentBlock,
    BaseRecursiveContentBlock,
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    VideoBlock,
)
from llama_index.core.schema import QueryBundle

from skr_core.errors import InputError

_ROLES = {
    MessageRole.USER: "user",
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "system",
    MessageRole.TOOL: "tool",
    MessageRole.FUNCTION: "tool",
}
"""The others are names for the assistant."""

_REFUSED = {AudioBlock: "audio", VideoBlock: "a video", DocumentBlock: "a document"}

_UNSAID = "…"


def as_history(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """The messages before a question, as LangGraph takes them.

    Thoughts and calls of tools are left out, the results of tools are not. What the user said last
    is a turn like any other: a memory may write its blocks there.

    Raises:
        InputError: A message holds audio, a video or a document.
    """
    history = [_as_message(each) for each in messages]
    if history and history[-1]["role"] == "user":
        history.append({"role": "assistant", "content": _UNSAID})
    return history


def image_blocks(asked: object) -> list[dict[str, Any]]:
    """The image of a query, as LangChain's content block; none where there is no image.

    Raises:
        InputError: There is no such file.
    """
    path = asked.image_path if isinstance(asked, QueryBundle) else None
    if path is None:
        return []
    try:
        return [_image(ImageBlock(path=Path(path)))]
    except (OSError, ValueError) as error:
        raise InputError(f"the image_path of the query is no image: {path}") from error


def _as_message(message: ChatMessage) -> dict[str, Any]:
    role = _ROLES.get(message.role, "assistant")
    blocks = [inner for each in message.blocks for inner in _plain(each)]
    content: Any = "\n".join(each.text for each in blocks if isinstance(each, TextBlock))
    if images := [_image(each) for each in blocks if isinstance(each, ImageBlock)]:
        content = [{"type": "text", "text": content}, *images]
    for each in blocks:
        if (what := _REFUSED.get(type(each))) is not None:
            raise InputError(
                f"a message of the conversation ({role}) holds {what}, which is not sent to the "
                "model: give it as text, such as a transcript, or leave it out"
            )
    about = message.additional_kwargs
    named = {"name": str(about["name"])} if about.get("name") and role == "tool" else {}
    calls = {"tool_call_id": str(about.get("tool_call_id") or "")} if role == "tool" else {}
    return {"role": role, "content": content, **named, **calls}


def _plain(block: BaseContentBlock) -> Iterator[BaseContentBlock]:
    """The block, or those that it quotes."""
    if not isinstance(block, BaseRecursiveContentBlock):
        yield block
        return
    inner = getattr(block, block.nested_blocks_field_name())
    for each in inner if isinstance(inner, list) else [inner]:
        yield from _plain(each)


def _image(block: ImageBlock) -> dict[str, Any]:
    kind = {"mime_type": block.image_mimetype} if block.image_mimetype else {}
    if block.url is not None:
        return {"type": "image", "url": str(block.url), **kind}
    return {"type": "image", "base64": block.resolve_image(as_base64=True).read().decode(), **kind}
