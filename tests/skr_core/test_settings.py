"""Settings: one description of a system, made of what a caller gives."""

from __future__ import annotations

from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from skr_core import Budget, Demonstration, Settings
from skr_core.errors import InputError, StampMismatch
from skr_core.prompts.papers import SKR_TEMPLATES
from skr_core.reflectors import JudgeReflector
from skr_core.routers import AlwaysRetrieve, NeverRetrieve, PromptRouter
from skr_core.settings import as_router, hinting
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_learn.policy import WeighingPolicy

MODEL = ScriptedModel(["Paris."])
RETRIEVER = MappingRetriever({})


def test_every_setting_can_be_given_by_its_name():
    assert [*signature(Settings.of).parameters] == [each.name for each in fields(Settings)]


def test_nothing_said_is_the_default():
    settings = Settings.of(MODEL, RETRIEVER, router=None, budget=None, demonstrations=None)
    assert settings == Settings(MODEL, RETRIEVER, router=settings.router)
    assert isinstance(settings.router, AlwaysRetrieve)


def test_plain_values_of_a_server_become_typed():
    settings = Settings.of(
        MODEL,
        budget={"max_rounds": 2},
        demonstrations=[{"question": "?", "answer": "!"}],
        templates={"answer_directly": "Say: {question}"},
    )
    assert settings.budget == Budget(max_rounds=2)
    assert settings.demonstrations == (Demonstration("?", "!"),)
    assert settings.templates.answer_directly == "Say: {question}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 3}, "Budget is made from a mapping"),
        ({"when_insufficient": "guess"}, "give one of best_draft"),
        ({"decompose": "no"}, "decompose is 'no': give one of True, False"),
        ({"scope": "x"}, "scope and ttl are those of a reference_store"),
        ({"ttl": 5}, "scope and ttl are those of a reference_store"),
        ({"router": 42}, "a router has decide"),
        ({"router": AlwaysRetrieve}, r"give AlwaysRetrieve\(...\), not the class itself"),
        ({"arbiter": WeighingPolicy}, r"give WeighingPolicy\(...\), not the class itself"),
        ({"reflector": JudgeReflector}, r"give JudgeReflector\(...\), not the class itself"),
        (
            {"reference_store": "a/folder"},
            "a reference store has name, .* and in_scope, which str lacks",
        ),
        ({"scope": " "}, "the scope is an empty text"),
        ({"scope": 7}, "the scope is int: give a text, or a function"),
        ({"ttl": 0}, "ttl is 0: give the seconds"),
        ({"ttl": "day"}, "ttl is 'day': give the seconds"),
        ({"metadata_keys": "page"}, "metadata_keys is one text"),
        ({"metadata_keys": 3}, "metadata_keys is int: give a list of names"),
        ({"metadata_keys": ["page", 3]}, "metadata_keys holds 3, which is no name"),
        ({"reference_store": RETRIEVER}, "a reference store has .*, which MappingRetriever lacks"),
        ({"reflector": 42}, "a reflector has reflect, which int lacks"),
        ({"reflector": "no/such/folder"}, "no saved router"),
        ({"router": "no/such/folder"}, "no saved router"),
    ],
)
def test_a_wrong_option_is_told(options: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        Settings.of(MODEL, **options)


def test_a_misspelt_setting_is_a_type_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'budgett'"):
        Settings.of(MODEL, budgett=Budget())


def test_a_hint_says_where_a_keyword_belongs_and_leaves_all_else_as_it_is():
    @hinting(k="give it to the retriever")
    def build(model: str, *, router: str = "always") -> str:
        """Build."""
        return model + router

    assert build("a ", router="never") == "a never"
    assert (build.__name__, build.__doc__) == ("build", "Build.")
    assert [*signature(build).parameters] == ["model", "router"]
    with pytest.raises(TypeError, match=r"build\(\) takes no 'k': give it to the retriever"):
        build("a", k=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'ruter'"):
        build("a", ruter="never")  # type: ignore[call-arg]


def test_a_model_must_be_given():
    with pytest.raises(InputError, match="no model"):
        Settings.of(None)


def test_a_routers_folder_is_loaded_for_the_model(tmp_path: Path):
    PromptRouter(ScriptedModel(["No."], name="small")).save(tmp_path / "router")
    small = ScriptedModel(["No, I need nothing."], name="small")
    settings = Settings.of(small, router=tmp_path / "router")
    assert settings.router.decide("Who wrote Emma?").retrieve is False
    with pytest.raises(StampMismatch, match="made with the model 'small', not 'scripted'"):
        Settings.of(MODEL, router=str(tmp_path / "router"))


def test_as_router_passes_a_router_through():
    router = NeverRetrieve()
    assert as_router(router) is router


@pytest.mark.parametrize(
    "options",
    [
        {"budget": Budget(max_rounds=2)},
        {"when_insufficient": "refuse"},
        {"demonstrations": [Demonstration("?", "!")]},
        {"templates": SKR_TEMPLATES},
        {"reflector": JudgeReflector(MODEL)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_the_version_changes_with_what_decides_the_answer(options: dict[str, Any]):
    plain = Settings.of(MODEL, RETRIEVER)
    other = Settings.of(MODEL, RETRIEVER, **options)
    assert other.version != plain.version
    assert other.version == Settings.of(MODEL, RETRIEVER, **options).version
    assert other.stamp() != plain.stamp()


def test_the_version_says_nothing_of_model_retriever_and_router():
    plain = Settings.of(MODEL, RETRIEVER)
    other = Settings.of(ScriptedModel(name="other"), None, router=NeverRetrieve())
    assert other.version == plain.version
    stamp = plain.stamp(corpus="wiki", metric="accuracy")
    assert (stamp.model, stamp.retriever) == ("scripted", "mapping")
    assert (stamp.corpus, stamp.metric, stamp.system) == ("wiki", "accuracy", plain.version)
