"""The reflector that ``--reflector`` names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skr_app.opening import make_model, through
from skr_core.errors import InputError

if TYPE_CHECKING:
    from skr_core.ports import LanguageModel, Reflector, Retriever
    from skr_learn.reply_cache import ReplyCache

ReflectorOption = Annotated[
    str,
    typer.Option(
        "--reflector",
        help="Judges whether a draft's references suffice: `refusal` (the verdict in the model's "
        "own reply), `judge` or `judge:MODEL` (one call more), `entailment:lexical|nli:NAME|"
        "true:NAME|judge:MODEL` (each sentence follows from what it cites), or `learned:FOLDER`, "
        "made by `skr calibrate --reflector`.",
    ),
]


def open_reflector(
    reflector: str,
    model: LanguageModel,
    retriever: Retriever | None = None,
    *,
    base_url: str | None = None,
    cache: ReplyCache | None = None,
    force: bool = False,
) -> Reflector:
    """Make the reflector that an option names.

    Args:
        reflector: As in `ReflectorOption`.
        model: The one that answers; it judges too where ``judge`` names no other.
        retriever: The one that is searched; compared with that of a learned reflector.
        base_url: Of the server of a judge that is named.
        cache: Keeps what a judge that is named replies.
        force: Take a learned one although it was made with something else.

    Raises:
        InputError: It names none, or there is no reflector in the folder.
        StampMismatch: The folder's was made with something else, unless `force`.
    """
    from skr_core import reflectors

    kind, _, name = reflector.partition(":")
    if reflector == "refusal":
        return reflectors.RefusalReflector()
    if reflector == "judge":
        return reflectors.JudgeReflector(model)
    if kind == "judge" and name:
        return reflectors.JudgeReflector(through(cache, make_model(name, base_url)))
    if kind == "entailment" and name:
        from skr_app.measuring import make_entailment  # with all that measures

        return reflectors.EntailmentReflector(make_entailment(name, base_url, cache))
    if kind == "learned" and name:
        return reflectors.LearnedReflector.load(
            Path(name), model=model, retriever=retriever, force=force
        )
    raise InputError(
        f"--reflector {reflector}: give refusal, judge, judge:MODEL, entailment:lexical, "
        "entailment:nli:NAME, entailment:true:NAME, entailment:judge:MODEL or learned:FOLDER"
    )
