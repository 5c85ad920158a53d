"""Images reach the model through every drop-in; audio, videos and files are refused by name."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    TextBlock,
)
from llama_index.core.llms import MockLLM
from llama_index.core.schema import ImageNode, MediaResource, Node, QueryBundle, TextNode

from langchain_skr import SKRMiddleware, create_skr_chain, create_skr_graph
from llamaindex_skr import SKRChatEngine, SKRQueryEngine
from skr_core import Budget, Image
from skr_core.errors import InputError, RetrieverError
from tests.langchain_skr.fakes import Agent
from tests.parity.talks import (
    ASKED,
    DROP_INS,
    FIRST,
    LIBRARY,
    TURNS,
    WAYS,
    Listener,
    Shelf,
    chat,
    model,
    run,
    written,
)

PNG = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8)).decode()
LAMP: dict[str, Any] = {"type": "image", "base64": PNG, "mime_type": "image/png"}
SHOWN = {
    "standard": LAMP,
    "data url": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    "anthropic": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
    },
    "before 1.0": {
        "type": "image",
        "source_type": "base64",
        "mime_type": "image/png",
        "data": PNG,
    },
}
URL = "https://example.org/lamp.png"


def with_image(block: Any, text: str = ASKED) -> HumanMessage:
    return HumanMessage([{"type": "text", "text": text}, block])


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
@pytest.mark.parametrize("form", SHOWN)
@pytest.mark.parametrize("name", DROP_INS)
async def test_an_image_of_the_question_reaches_the_model(name: str, form: str, way: str) -> None:
    asked = model()
    drop_in = DROP_INS[name](asked, LIBRARY, when_insufficient="own_knowledge")
    for given in ({"messages": [with_image(SHOWN[form])]}, {"question": with_image(SHOWN[form])}):
        await run(way, drop_in, given)
    assert len(written(asked)) == 4
    for prompt in written(asked):
        assert prompt.images == (Image(data=PNG, mime_type="image/png"),)
        assert PNG not in prompt.text


async def test_an_address_is_an_image_too() -> None:
    asked = model()
    graph = create_skr_graph(asked, LIBRARY, router="never")
    for block in (
        {"type": "image", "url": URL},
        {"type": "image_url", "image_url": {"url": URL}},
        {"type": "image", "source": {"type": "url", "url": URL}},
    ):
        await graph.ainvoke({"messages": [with_image(block)]})
    assert [each.images for each in written(asked)] == [(Image(url=URL),)] * 3


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_images_of_earlier_turns_are_shown_as_long_as_their_turns(way: str) -> None:
    asked = model()
    graph: Any = create_skr_graph(asked, LIBRARY, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    await run(way, graph, {"question": with_image(LAMP, FIRST)}, thread)
    await run(way, graph, {"question": with_image({"type": "image", "url": URL})}, thread)
    last = written(asked)[-1]
    assert last.images == (Image(url=URL), Image(data=PNG, mime_type="image/png", name="[image 1]"))
    assert last.history[0] == f"{FIRST} [image 1]"
    short = create_skr_graph(asked, LIBRARY, budget=Budget(max_history_tokens=8))
    said = [with_image(LAMP, FIRST), AIMessage("Oil."), HumanMessage("So?"), AIMessage("So.")]
    await run(way, short, {"question": ASKED, "history": [*said, ("user", "Oh."), ("ai", "Yes")]})
    assert FIRST not in str(written(asked)[-1].history)
    assert written(asked)[-1].images == ()


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_a_chat_model_of_langchain_gets_standard_blocks(way: str) -> None:
    chat_model = Agent(replies=[AIMessage("SUFFICIENT\nThe keeper [1].")])
    chain = create_skr_chain(chat_model, LIBRARY)
    said = [with_image({"type": "image", "url": URL}, FIRST), AIMessage("Oil.")]
    await run(way, chain, {"question": with_image(LAMP), "history": said})
    *turns, last = chat_model.sent[-1]
    assert [each.content for each in turns] == [f"{FIRST} [image 1]", "Oil."]
    content: Any = last.content
    text, *images = content
    assert ASKED in text["text"]
    assert images == [LAMP, {"type": "text", "text": "[image 1]"}, {"type": "image", "url": URL}]
    with pytest.raises(InputError, match="completes texts and is shown no image"):
        await run(
            way,
            create_skr_chain(FakeListLLM(responses=["Oil."]), LIBRARY),
            {"question": with_image(LAMP)},
        )


def picture(message: ChatMessage) -> list[Any]:
    """The blocks of a message, images by their data or address."""
    return [
        each.text if isinstance(each, TextBlock) else (each.image or str(each.url))
        for each in message.blocks
        if isinstance(each, TextBlock | ImageBlock)
    ]


@pytest.mark.parametrize("way", WAYS)
async def test_an_llm_of_llamaindex_gets_image_blocks(way: str, tmp_path: Path) -> None:
    path = tmp_path / "lamp.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(8))
    llm = Listener()
    earlier = ChatMessage(role="user", blocks=[TextBlock(text=FIRST), ImageBlock(url=URL)])
    engine = SKRChatEngine.from_defaults(Shelf(), llm=llm, chat_history=[earlier, TURNS[1]])
    await chat(way, engine, QueryBundle(ASKED, image_path=str(path)))
    *turns, last = llm.heard[-1]
    assert [each.content for each in turns] == [f"{FIRST} [image 1]", "Oil."]
    assert picture(last)[1:] == [PNG.encode(), "[image 1]", URL]
    with pytest.raises(InputError, match=r"is no image: nowhere\.png"):
        await chat(way, engine, QueryBundle(ASKED, image_path="nowhere.png"))


@pytest.mark.parametrize("way", ["query", "aquery"])
async def test_a_query_s_image_reaches_the_llm(way: str, tmp_path: Path) -> None:
    path = tmp_path / "lamp.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(8))
    llm, asked = Listener(), QueryBundle(ASKED, image_path=str(path))
    engine = SKRQueryEngine.from_defaults(Shelf(), llm=llm)
    if way == "query":
        engine.query(asked)
    else:
        await engine.aquery(asked)
    assert picture(llm.heard[-1][-1])[1:] == [PNG.encode()]


@pytest.mark.parametrize("way", WAYS)
async def test_images_of_nodes_are_shown_by_their_numbers(way: str, tmp_path: Path) -> None:
    path = tmp_path / "lamp.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(8))
    nodes = [
        TextNode(text="Plain."),
        ImageNode(text="A lamp.", image_url=URL),
        ImageNode(image_path=str(path)),
        Node(image_resource=MediaResource(data=PNG.encode())),
    ]
    llm = Listener(lambda prompt: "SUFFICIENT\nA lamp [2][3][4].")
    engine = SKRChatEngine.from_defaults(Shelf(*nodes), llm=llm)
    await chat(way, engine, ASKED)
    data = PNG.encode()
    assert picture(llm.heard[-1][-1])[1:] == ["[2]", URL, "[3]", data, "[4]", data]
    assert "Image lamp.png" in str(llm.heard[-1][-1].content)
    found = engine.chat(ASKED).source_nodes
    assert [each.node for each in found] == nodes


@pytest.mark.parametrize(
    ("block", "match"),
    [
        ({"type": "audio", "base64": PNG, "mime_type": "audio/wav"}, "holds audio"),
        ({"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}}, "holds audio"),
        ({"type": "video", "url": URL}, "holds a video"),
        ({"type": "file", "base64": PNG, "mime_type": "application/pdf"}, "holds a file"),
        ({"type": "image", "file_id": "7"}, "the file of a provider"),
        ({"type": "hologram"}, "of the type 'hologram'"),
    ],
)
async def test_what_is_neither_text_nor_image_is_refused_by_name(block: Any, match: str) -> None:
    chain = create_skr_chain(model(), LIBRARY)
    for given in (
        {"messages": [with_image(block)]},
        {"question": ASKED, "history": [with_image(block, FIRST), AIMessage("Oil.")]},
    ):
        with pytest.raises(InputError, match=match):
            await chain.ainvoke(given)


async def test_a_message_of_llamaindex_is_refused_by_name_too() -> None:
    for block, what in (
        (AudioBlock(audio=b"RIFF"), "audio"),
        (DocumentBlock(data=b"%PDF", document_mimetype="application/pdf"), "a document"),
    ):
        said = ChatMessage(role="user", blocks=[TextBlock(text=FIRST), block])
        engine = SKRChatEngine.from_defaults(Shelf(), llm=Listener(), chat_history=[said, TURNS[1]])
        with pytest.raises(InputError, match=f"holds {what}"):
            await engine.achat(ASKED)
    heard = Node(audio_resource=MediaResource(data=PNG.encode()))
    with pytest.raises(RetrieverError, match="audio without a text"):
        SKRQueryEngine.from_defaults(Shelf(heard), llm=Listener()).query(ASKED)
    drawn = SKRQueryEngine.from_defaults(Shelf(ImageNode(image_url=URL)), llm=MockLLM())
    with pytest.raises(InputError, match="completes texts and is shown no image"):
        drawn.query(ASKED)


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_an_agent_s_system_message_and_images_are_its_own(way: str) -> None:
    """The middleware adds references, and takes nothing away."""
    chat = Agent(replies=[AIMessage("The keeper [1].")])
    middleware = SKRMiddleware(retriever=LIBRARY)
    agent: Any = create_agent(chat, system_prompt="Be brief.", middleware=[middleware])
    asked = HumanMessage([{"type": "text", "text": ASKED}, LAMP])
    await run(way, agent, {"messages": [asked]})
    system, last = chat.sent[0]
    assert "Be brief." in system.text
    assert "The keeper brought the oil." in system.text
    assert last.content == asked.content
