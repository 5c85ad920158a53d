"""The images of a conversation: they are sent along, and what else is no text is refused by name.

Where an image stood, the text names it, so that the model knows which one is spoken of:

Example:
    >>> from langchain_core.messages import HumanMessage
    >>> lamp = {"type": "image", "url": "https://example.org/lamp.png"}
    >>> said = HumanMessage([{"type": "text", "text": "What is this?"}, lamp])
    >>> (message,), (image,) = with_images([said])
    >>> message.text, image.name, image.url
    ('What is this? [image 1]', '[image 1]', 'https://example.org/lamp.png')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from skr_core.errors import InputError
from skr_core.types import Image

_REFUSED = {"audio": "audio", "video": "a video", "file": "a file", "text-plain": "a text file"}


def images_in(message: BaseMessage, first: int | None = None) -> list[Image]:
    """The images of a message, whose content may be that of any provider.

    Args:
        message: The message.
        first: The number in the name of the first one; without it they have no names.

    Raises:
        InputError: It holds audio, a video, a file or something that is not known.
    """
    images: list[Image] = []
    for block in message.content_blocks:
        given: Mapping[str, Any] = block
        kind = given["type"]
        if kind == "image":
            name = "" if first is None else f"[image {first + len(images)}]"
            images.append(_image(given, name))
        elif kind in _REFUSED:
            raise _refused(message, _REFUSED[kind])
        elif kind == "non_standard" and isinstance(message, HumanMessage):
            raise _refused(message, f"content of the type {given['value'].get('type')!r}")
    return images


def with_images(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], list[Image]]:
    """The messages as texts in which ``[image n]`` stands for each image, and the images.

    Raises:
        InputError: A message holds something else that is no text.
    """
    texts: list[BaseMessage] = []
    images: list[Image] = []
    for message in messages:
        if not isinstance(message.content, str):
            found = images_in(message, len(images) + 1)
            images += found
            content = " ".join([str(message.text), *(each.name for each in found)]).strip()
            message = message.model_copy(update={"content": content})
        texts.append(message)
    return texts, images


def _image(block: Mapping[str, Any], name: str) -> Image:
    url, kind = str(block.get("url") or ""), str(block.get("mime_type") or "")
    data = str(block.get("base64") or "")
    if url.startswith("data:"):
        head, _, data = url.partition(",")
        url, kind = "", head.removeprefix("data:").partition(";")[0]
    if not (url or data):
        raise InputError(
            "the conversation holds an image that is the file of a provider: give its url or its "
            "data in base64"
        )
    return Image(url, data, kind, name)


def _refused(message: BaseMessage, what: str) -> InputError:
    return InputError(
        f"a message of the conversation ({message.type}) holds {what}, which is not sent to the "
        "model: give it as text, such as a transcript, or leave it out"
    )
