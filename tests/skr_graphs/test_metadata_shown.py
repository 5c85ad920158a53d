"""What of a reference's metadata the model sees."""

from __future__ import annotations

from typing import Any

import pytest

from skr_core.errors import InputError
from skr_core.prompts.templates import REFUSAL
from skr_core.settings import Settings
from skr_core.testing import ScriptedModel
from skr_core.types import Reference
from skr_graphs import create_self_completion_graph
from tests.skr_graphs.doubles import QUESTION, Invoke, both

HEAD = "[1] Atlas (page: 3; source: (1) atlas.pdf)\n"


class Library:
    """Has one reference with more metadata than a model should see."""

    name = "library"

    def retrieve(self, query: str) -> list[Reference]:
        metadata = {"page": 3, "source": "[1] atlas.pdf", "secret": "s3cret"}
        return [Reference.of("Paris is the capital.", "Atlas", metadata=metadata)]

    async def aretrieve(self, query: str) -> list[Reference]:
        return self.retrieve(query)


@both
def test_what_is_chosen_stands_in_the_head_of_every_prompt(invoke: Invoke):
    model = ScriptedModel(
        {
            "answer_with_references": [REFUSAL],
            "self_complete": ["one"],
            "answer_anyway": ["Paris [1]."],
        }
    )
    graph: Any = create_self_completion_graph(
        model=model,
        retriever=Library(),
        metadata_keys=["page", "source"],
        when_insufficient="own_knowledge",
    ).compile()
    output = invoke(graph, QUESTION)
    prompts = {prompt.task: prompt.text for prompt in model.prompts}
    assert set(prompts) == {"answer_with_references", "self_complete", "answer_anyway"}
    assert all(HEAD in text and "s3cret" not in text for text in prompts.values())
    assert output["references"][0]["metadata"]["secret"] == "s3cret"


@both
def test_none_is_shown_unless_it_was_chosen(invoke: Invoke):
    model = ScriptedModel(["SUFFICIENT\nParis [1]."])
    invoke(create_self_completion_graph(model=model, retriever=Library()).compile(), QUESTION)
    assert "[1] Atlas\n" in model.prompts[0].text
    assert "page" not in model.prompts[0].text


def test_keys_are_names_and_part_of_the_system():
    plain = Settings.of(ScriptedModel())
    assert plain.version != Settings.of(ScriptedModel(), metadata_keys=["page"]).version
    with pytest.raises(InputError, match="list of names"):
        Settings.of(ScriptedModel(), metadata_keys="page")
