"""``skr experiment reflection``: who sees that references do not suffice (RaLLM §6.4, Table 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from skr_app.measuring import OutOption
from skr_app.reflecting import open_reflector

from skr_app.models import MaxSpendOption, PricesOption, make_model
from skr_app.opening import load_questions, open_embedder, open_searched, read_templates
from skr_app.options import (
    BaseUrl as BaseUrlOption,
)
from skr_app.options import (
    ConcurrencyOption,
    CorpusOption,
    DatasetOption,
    GivenStoreOption,
    LimitOption,
    SearchMode,
    TemplatesOption,
)
from skr_app.options import Deadline as DeadlineOption
from skr_app.options import (
    Embedder as EmbedderOption,
)
from skr_app.options import (
    Json as JsonOption,
)
from skr_app.options import (
    Model as ModelOption,
)
from skr_app.options import (
    Search as SearchOption,
)
from skr_app.options import (
    SkipBad as SkipBadOption,
)
from skr_app.output import progress
from skr_app.report import (
    Judging,
    RunFolder,
    ask_and_judge,
    show_result,
)
from skr_core.errors import InputError, ModelError
from skr_core.flow import arun
from skr_core.prompts.judging import JUDGING_VERSION
from skr_core.replies.reply import cited_numbers
from skr_lab.experiments.drafts import (
    Draft,
    complete_and_partial,
    falls_short,
    made_drafts,
    read_drafts,
    searching,
)
from skr_lab.experiments.knowledge import can_be_partial
from skr_lab.experiments.reflecting import (
    ACCURACY,
    FEWEST,
    Held,
    learned,
    reflect_on,
    reflection_result,
    stated,
)

if TYPE_CHECKING:
    from skr_app.report import Result
    from skr_core.ports import Embedder, LanguageModel, Reflector, Retriever
    from skr_core.prompts.templates import PromptTemplates
    from skr_core.questions import Question

NEITHER_NOR_BOTH = "give QUESTIONS to draft answers to, or --recorded with a file of answers"
OF_A_MODEL = "refusal,judge,entailment:lexical,learned"
OF_RECORDS = "refusal,learned"
WRONG = "Insufficient is what was answered wrongly; a refusal is."
AS_SERVED = "A reply that refuses is sent back without asking any other reflector, as in the loop."


@dataclass(frozen=True)
class _Drafts:
    """What is judged, and what is said of it."""

    drafts: Sequence[Draft]
    settings: Mapping[str, str]
    n_failed: int = 0
    notes: tuple[str, ...] = ()


def reflection(
    questions: Annotated[
        Path | None,
        typer.Argument(
            metavar="QUESTIONS",
            help="JSONL with questions and their contexts (also .gz), or see --dataset.",
        ),
    ] = None,
    recorded: Annotated[
        Path | None,
        typer.Option(
            "--recorded",
            help="Recorded answers in place of a model: records of `skr collect`, recorded pairs, "
            "or labelled replies (also .gz).",
        ),
    ] = None,
    reflectors: Annotated[
        str | None,
        typer.Option(
            "--reflectors",
            help="With commas between: refusal, judge, judge:MODEL, entailment:lexical|nli:NAME|"
            "true:NAME|judge:MODEL, learned (from the other drafts), learned:FOLDER.",
            show_default=f"{OF_A_MODEL}; of recorded answers {OF_RECORDS}",
        ),
    ] = None,
    corpus: CorpusOption = None,
    store: GivenStoreOption = None,
    dataset: DatasetOption = None,
    model: ModelOption = "extractive",
    base_url: BaseUrlOption = None,
    deadline: DeadlineOption = None,
    max_spend: MaxSpendOption = None,
    prices: PricesOption = None,
    templates: TemplatesOption = None,
    embedder: EmbedderOption = "hashing",
    search: SearchOption = SearchMode.hybrid,
    out: OutOption = None,
    limit: LimitOption = None,
    concurrency: ConcurrencyOption = 8,
    skip_bad: SkipBadOption = False,
    json: JsonOption = False,
) -> None:
    """Who sees that the references do not suffice? Reflectors beside each other (RaLLM Table 4).

    From questions with contexts: each is answered once from all its gold
    references and once from half of them, which do not suffice. With --store or
    --corpus: from what is found, which does not suffice where the draft is
    wrong. With --recorded: the same of recorded answers.
    """
    if (questions is None) == (recorded is None):
        raise InputError(NEITHER_NOR_BOTH)
    given = reflectors or (OF_RECORDS if recorded else OF_A_MODEL)
    names = list(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    language_model, words = make_model(model, base_url), read_templates(templates)
    stamp = {
        "command": "reflection",
        "model": language_model.name,
        "prompts": words.version,
        "judges": JUDGING_VERSION,
    }
    with ExitStack() as stack:
        if recorded is not None:
            folder = stack.enter_context(RunFolder(out, {**stamp, "recorded": recorded.name}))
            made = _recorded(recorded, limit=limit, skip_bad=skip_bad)
        else:
            read = load_questions(
                Path(str(questions)), dataset, None, limit=limit, skip_bad=skip_bad
            )
            retriever, searched = None, "complete and partial contexts"
            if store is not None or corpus is not None:
                retriever, searched = open_searched(
                    stack,
                    store=store,
                    corpus=corpus,
                    questions=read,
                    embedder=embedder,
                    search=search.value,
                    skip_bad=skip_bad,
                )
            folder = stack.enter_context(RunFolder(out, {**stamp, "references": searched}))
            made = _made(language_model, retriever, words, read, folder, concurrency)
            of = f"{Path(str(questions)).name} ({len(read)})"
            settings = {"questions": of, "model": language_model.name, "references": searched}
            made = replace(made, settings=settings)

        def open_one(name: str) -> Reflector:
            return open_reflector(name, language_model, base_url=base_url)

        held, notes = asyncio.run(
            _hold(names, made.drafts, open_one, open_embedder(embedder), folder, concurrency)
        )
        result, judged = reflection_result(
            made.drafts,
            held,
            made.settings,
            n_failed=made.n_failed,
            notes=(*made.notes, AS_SERVED, *notes),
        )
        folder.write(result, judged)
    show_result(result, out, json=json, more=_figures(result))


def _recorded(path: Path, *, limit: int | None, skip_bad: bool) -> _Drafts:
    drafts = read_drafts(path, limit=limit, skip_bad=skip_bad)
    return _Drafts(drafts, {"recorded": f"{path.name} ({len(drafts)} answers)"}, notes=(WRONG,))


def _made(
    model: LanguageModel,
    retriever: Retriever | None,
    words: PromptTemplates,
    questions: Sequence[Question],
    folder: RunFolder,
    concurrency: int,
) -> _Drafts:
    if retriever is None:
        systems = complete_and_partial(model, words)
        usable = [each for each in questions if can_be_partial(each)]
        needs = "contexts of which two are supporting at least: give --store or --corpus"
    else:
        systems = [searching(model, retriever, words)]
        usable = [each for each in questions if each.gold]
        needs = "a right answer"
    if not usable:
        raise InputError(f"no question has {needs}")
    _, judged = asyncio.run(ask_and_judge(systems, usable, folder, Judging(), concurrency))
    left_out = len(questions) - len(usable)
    notes = (f"{left_out} questions lack {needs}",) if left_out else ()
    must_cite = words.asks_for_citations
    if retriever is None:
        by_design = made_drafts(judged, lambda name, _: name == "partial", must_cite=must_cite)
        return _Drafts(by_design[0], {}, by_design[1], notes)
    drafts, failed = made_drafts(judged, lambda _, each: falls_short(each), must_cite=must_cite)
    return _Drafts(drafts, {}, failed, (*notes, WRONG))


async def _hold(
    names: Sequence[str],
    drafts: Sequence[Draft],
    open_one: Callable[[str], Reflector],
    embedder: Embedder,
    folder: RunFolder,
    concurrency: int,
) -> tuple[dict[str, list[Held]], list[str]]:
    """What every reflector holds of the drafts, and what a reader has to know of that."""
    held: dict[str, list[Held]] = {}
    notes: list[str] = []
    recorded = all(draft.answer is None for draft in drafts)
    for name in names:
        if name == "learned" and len(drafts) < FEWEST:
            notes.append(f"learned is left out: it needs {FEWEST} drafts, not {len(drafts)}")
        elif name == "learned":
            with progress("Learning from the other drafts"):
                held[name] = await asyncio.to_thread(learned, drafts, embedder)
        elif name == "refusal":
            held[name] = stated(drafts)
        else:
            if bare := sum(not draft.references for draft in drafts) if recorded else 0:
                raise InputError(
                    f"--reflectors {name}: {bare} of {len(drafts)} recorded answers keep no "
                    "references to look at; refusal and learned need none"
                )
            uncited = sum(not cited_numbers(each.text, len(each.references)) for each in drafts)
            if recorded and uncited and name.startswith("entailment"):
                notes.append(
                    f"{name}: {uncited} of {len(drafts)} answers cite nothing, and so follow from "
                    "nothing."
                )
            reflector = open_one(name)
            known_as = str(getattr(reflector, "name", name))
            with progress(f"Reflecting ({name})") as advance:
                flow = reflect_on(
                    reflector,
                    known_as,
                    drafts,
                    folder.judgements,
                    concurrency=concurrency,
                    on_progress=advance,
                )
                held[name] = await arun(flow)
            if all(each.insufficient is None for each in held[name]):
                raise ModelError(f"every draft failed ({name})")
    return held, notes


def _figures(result: Result) -> dict[str, Any]:
    """The means by their names, for each reflector."""
    return {
        "reflectors": {
            row.name: {
                "n": row.cells[ACCURACY].n,
                "n_failed": row.cells[ACCURACY].n_failed,
                **{measure: cell.mean for measure, cell in row.cells.items() if cell.n},
            }
            for row in result.rows
        }
    }
