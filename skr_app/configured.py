"""The settings that the options of a command describe, with what they read from files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skr_app.limits import seconds_a_question
from skr_core.budget import Budget
from skr_core.errors import DataError, InputError
from skr_core.files import read_whole
from skr_core.ports import AnswerArbiter
from skr_core.prompts.templates import DEFAULT_TEMPLATES, PromptTemplates
from skr_core.settings import Settings, WhenInsufficient
from skr_core.types import Demonstration

if TYPE_CHECKING:
    from skr_core.ports import LanguageModel, Reflector, Retriever, Router, TextScorer


def open_router(
    folder: Path,
    model: LanguageModel,
    *,
    retriever: Retriever | None = None,
    force: bool = False,
) -> Router:
    """Load a saved router for what it will work with; it builds its own embedder.

    Raises:
        InputError: There is no router in the folder.
        StampMismatch: It was made with something else, unless `force`.
    """
    from skr_core.routers.saving import load_router

    return load_router(folder, model=model, retriever=retriever, force=force)


def make_settings(
    model: LanguageModel,
    retriever: Retriever | None,
    *,
    router: Path | None = None,
    force: bool = False,
    reflector: Reflector | None = None,
    likelihoods: TextScorer | None = None,
    max_rounds: int = 3,
    max_calls: int | None = None,
    when_insufficient: WhenInsufficient | None = None,
    decompose: bool = False,
    templates: str | None = None,
    demonstrations: Path | None = None,
) -> Settings:
    """The settings that a command's options describe.

    Args:
        model: Answers.
        retriever: Is searched.
        router: Folder of a saved router, and of the arbiter beside it; always retrieving without.
        force: Take them although they were made with something else.
        reflector: Judges drafts.
        likelihoods: As in `Settings`. Where the folder holds neither an arbiter nor a ladder a
            `MarginArbiter` decides.
        max_rounds: Rounds of retrieval.
        max_calls: Calls of the model.
        when_insufficient: As in `Settings`.
        decompose: As in `Settings`.
        templates: As `read_templates` takes them.
        demonstrations: A file as `read_demonstrations` takes it.
    """
    loaded = (
        None if router is None else open_router(router, model, retriever=retriever, force=force)
    )
    arbiter = _open_arbiter(router, model, retriever, force=force)
    if likelihoods is not None and arbiter is None and not isinstance(loaded, AnswerArbiter):
        from skr_learn.arbiters import MarginArbiter

        arbiter = MarginArbiter()
    return Settings.of(
        model,
        retriever,
        router=loaded,
        arbiter=arbiter,
        likelihoods=likelihoods,
        reflector=reflector,
        budget=Budget(max_rounds=max_rounds, max_calls=max_calls, deadline_s=seconds_a_question()),
        when_insufficient=when_insufficient,
        decompose=decompose,
        templates=read_templates(templates),
        demonstrations=read_demonstrations(demonstrations),
    )


def _open_arbiter(
    folder: Path | None, model: LanguageModel, retriever: Retriever | None, *, force: bool
) -> AnswerArbiter | None:
    """Load the arbiter of a router's folder, where it holds one."""
    from skr_core.routers.saving import holds_arbiter

    if folder is None or not holds_arbiter(folder):
        return None
    from skr_learn.arbiters import Arbiter

    return Arbiter.load(folder, model=model, retriever=retriever, force=force)


def read_templates(templates: str | None) -> PromptTemplates:
    """The words that an option names: a set of templates, or a JSON file of them.

    Raises:
        InputError: There is no such set or file, or a template lacks a placeholder.
        DataError: The file is not JSON, or not of templates.
    """
    import orjson

    from skr_core.plain import from_plain
    from skr_core.prompts.papers import RALLM_TEMPLATES, SKR_TEMPLATES, W2R_TEMPLATES

    sets = {
        "default": DEFAULT_TEMPLATES,
        "rallm": RALLM_TEMPLATES,
        "skr": SKR_TEMPLATES,
        "w2r": W2R_TEMPLATES,
    }
    if templates is None:
        return DEFAULT_TEMPLATES
    if templates in sets:
        return sets[templates]
    path = Path(templates)
    if not path.is_file():
        raise InputError(f"--templates {templates}: give {', '.join(sets)}, or a JSON file")
    try:
        return from_plain(PromptTemplates, orjson.loads(read_whole(path)), strict=True)
    except orjson.JSONDecodeError as error:
        raise DataError(path, None, f"this is not JSON ({error})") from error
    except InputError as error:
        raise DataError(path, None, str(error)) from error


def read_demonstrations(path: Path | None) -> tuple[Demonstration, ...]:
    """Worked examples of a JSONL file: ``question``, ``answer``, and ``contexts`` where given.

    Raises:
        InputError: There is no such file.
        DataError: A line is broken, or none has an answer.
    """
    if path is None:
        return ()
    from skr_core.questions import read_questions

    rows = [each for each in read_questions(path) if each.gold]
    if not rows:
        raise DataError(path, None, "there is no question with an answer in this file")
    return tuple(
        Demonstration(each.asked, each.gold[0], tuple(part.text for part in each.contexts))
        for each in rows
    )
