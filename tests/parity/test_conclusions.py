"""Where the words ask for reasoning (SKR), its conclusion is served and streamed."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_skr import create_skr_chain
from llamaindex_skr import SKRQueryEngine
from skr_core.prompts.papers import RALLM_TEMPLATES, SKR_TEMPLATES
from skr_core.testing import MappingRetriever, ScriptedModel

REASONED = "Spielberg made Jaws [1]. So the answer is Steven Spielberg [1]."
SERVED = "Steven Spielberg [1]."
FOUND = MappingRetriever({"Who made Jaws?": ["Steven Spielberg made Jaws."]})


async def said(thing: Any, way: str) -> str:
    if isinstance(thing, SKRQueryEngine):
        if way == "invoke":
            return str(thing.query("Who made Jaws?").response)
        return str((await thing.aquery("Who made Jaws?")).response)
    if way == "invoke":
        return str(thing.invoke("Who made Jaws?"))
    return "".join([piece async for piece in thing.astream("Who made Jaws?")])


@pytest.mark.parametrize("way", ["invoke", "async"])
@pytest.mark.parametrize("make", [create_skr_chain, SKRQueryEngine])
@pytest.mark.parametrize(("router", "served"), [("never", "Steven Spielberg."), ("always", SERVED)])
async def test_what_leads_to_the_answer_is_not_served(
    make: Any, way: str, router: str, served: str
) -> None:
    def of(**options: Any) -> Any:
        model = ScriptedModel([REASONED])
        if make is create_skr_chain:
            return create_skr_chain(model, FOUND, router=router, **options)
        return SKRQueryEngine.from_defaults(FOUND, llm=model, router=router, **options)

    assert await said(of(templates=SKR_TEMPLATES), way) == served
    assert "made Jaws" in await said(of(templates=RALLM_TEMPLATES), way)
