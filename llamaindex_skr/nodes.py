"""LlamaIndex nodes as references, and back: the very nodes.

Example:
    >>> node = TextNode(text="It is in France.", id_="7", metadata={"tags": ["city"]})
    >>> found = NodeWithScore(node=node, score=0.5)
    >>> to_node(to_reference(found)) == found
    True
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    Node,
    NodeWithScore,
    TextNode,
)

from skr_core.errors import InputError
from skr_core.references.found import foreign_reference
from skr_core.references.fusion import places
from skr_core.types import Image, Reference, content_id

_MEDIA = ("image_resource", "audio_resource", "video_resource")

TITLES = ("title", "file_name", "source")
"""The keys of the metadata that may hold a title; the first one that is there does."""


def to_reference(found: NodeWithScore) -> Reference:
    """Turn a node into a reference.

    A prompt shows the node as it shows itself to models, by its templates and without the keys that
    it excludes (``MetadataMode.LLM``); an excluded key gives no title either.

    Args:
        found: The node, with its score.
    """
    node = found.node
    text = node.get_content(MetadataMode.NONE)
    original = _dumped(node)
    if not text.strip():
        text = _stand_in(node, original)
    if original.get("text") == text:
        del original["text"]  # the reference has it already
    return foreign_reference(
        text,
        title=_title(node),
        score=found.score,
        metadata=node.metadata,
        shown=node.get_content(MetadataMode.LLM) or None if node.metadata else None,
        original=original,
    )


def to_node(reference: Reference) -> NodeWithScore:
    """Turn a reference into a node: the very node that it was made from, if it was made from one.

    The metadata of any other node hold the reference's title, where it has one and its source did
    not use that key itself. Where other nodes have the same text, word by word, ``also_in`` in the
    metadata lists the metadata of each, with its id; ``found_by`` lists the retrievers that found
    the node, where they have names. Both are shown neither to models nor to embedders.

    Args:
        reference: The reference.

    Example:
        >>> to_node(Reference.of("Paris is in France.", "Paris")).node.metadata
        {'title': 'Paris'}
    """
    original = reference.original
    if original is not None and "class_name" in original:
        node = _made_of({"text": reference.text, **deepcopy(original)})
    else:
        title = {"title": reference.title} if reference.title else {}
        metadata = {**title, **reference.metadata}
        node = TextNode(id_=reference.id, text=reference.text, metadata=metadata)
    added = {"also_in": places(reference), "found_by": list(reference.found_by)}
    for key in [key for key, value in added.items() if value]:
        node.metadata = {**node.metadata, key: added[key]}
        node.excluded_llm_metadata_keys = [*node.excluded_llm_metadata_keys, key]
        node.excluded_embed_metadata_keys = [*node.excluded_embed_metadata_keys, key]
    return NodeWithScore(node=node, score=reference.score)


def image_of(reference: Reference) -> Image | None:
    """Return the image of the node that a reference was made from; None where it has none.

    A file is read here. A node that has the image in several forms gives the first of its data, its
    file and its address.

    Raises:
        InputError: The file cannot be read.

    Example:
        >>> from llama_index.core.schema import ImageNode
        >>> drawn = ImageNode(text="A lamp.", image_url="https://example.org/lamp.png")
        >>> image_of(to_reference(NodeWithScore(node=drawn))).url
        'https://example.org/lamp.png'
    """
    data, path, url, kind = _image_in(reference.original or {})
    if path and not data:
        try:
            data = b64encode(Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"the image of a node cannot be read: {error}") from error
    if not (data or url):
        return None
    return Image("" if data else str(url), _as_text(data), str(kind or ""))


def _image_in(original: Mapping[str, Any]) -> tuple[Any, Any, Any, Any]:
    """The data, the path, the address and the type of an image in what is kept of a node."""
    if resource := original.get("image_resource"):
        return resource.get("data"), resource["path"], resource["url"], resource["mimetype"]
    names = ("image", "image_path", "image_url", "image_mimetype")  # those of an ImageNode
    data, path, url, kind = map(original.get, names)
    return data, path, url, kind


def _as_text(data: bytes | str | None) -> str:
    return data.decode() if isinstance(data, bytes) else data or ""


def _stand_in(node: BaseNode, original: Mapping[str, Any]) -> str:
    """The text of a node that is an image alone, by which it is told from others.

    Raises:
        InputError: It is audio or a video alone.
    """
    data, path, url, _ = _image_in(original)
    if data or path or url:
        identity = content_id(_as_text(data) or str(path or url))[:12]
        name = str(path or url or "")
        known = "" if name.startswith("data:") else Path(name).name
        return f"Image {known} ({identity})" if known else f"Image {identity}"
    for kind in ("audio", "video"):
        if original.get(f"{kind}_resource"):
            raise InputError(
                f"the retriever found {kind} without a text (node {node.node_id}), which is not "
                "sent to the model: give the node a text, such as a transcript"
            )
    return ""


def _dumped(node: BaseNode) -> dict[str, Any]:
    try:
        dumped = node.model_dump()
    except ValueError:  # an IndexNode of an object that LlamaIndex cannot serialise
        dumped = node.model_copy(update={"obj": None}).model_dump()
    for name in _MEDIA:  # LlamaIndex leaves out data in memory
        if (data := getattr(getattr(node, name, None), "data", None)) is not None:
            dumped[name]["data"] = data
    return dumped


def _title(node: BaseNode) -> object:
    hidden = {*node.excluded_llm_metadata_keys, *node.excluded_embed_metadata_keys}
    given = node.metadata
    return next((given[key] for key in TITLES if given.get(key) and key not in hidden), "")


def _made_of(dumped: dict[str, Any]) -> BaseNode:
    """A node of its own class, which may be one of the user's.

    It is a `TextNode` where that class is not imported, or has fields that are no plain values.
    """
    name = dumped["class_name"]
    classes = _with_subclasses(TextNode, Node)
    cls = next((each for each in classes if each.class_name() == name), TextNode)
    try:
        return cls.from_dict(dumped)
    except ValueError:
        return TextNode.from_dict(dumped)


def _with_subclasses(*classes: type[BaseNode]) -> Iterator[type[BaseNode]]:
    for each in classes:
        yield each
        yield from _with_subclasses(*each.__subclasses__())
