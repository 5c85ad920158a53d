"""The tables of recorded figures in the documentation, made by the commands above them.

Each stands on its page between `<!-- results: NAME -->` and `<!-- end of results -->`: the
commands, the table, and when it was made. Nothing in between is written by hand. With --check
nothing is written: it ends with 1 where a page says anything else than its commands.

Usage, in the folder lab: python -m benchmarks.results [--check] [NAME ...]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchmarks import page
from benchmarks.rows import DATA, LAB, ROOT
from skr_app.report import shown
from skr_app.report.tables import in_words
from skr_lab.experiments.recorded_self_knowledge import PUBLISHED
from skr_learn.metrics import Interval

PAPERS, RESULTS, ROUTING = "lab/docs/papers.md", "docs/results.md", "docs/routing.md"
TRUST = "lab/docs/trust.md"
MODULES = {"skr": "skr_app", "skr-lab": "skr_lab"}
Cells = Mapping[str, Mapping[str, Any]]
"""The cells of a row by their measures, each an interval as JSON has it."""


@dataclass(frozen=True)
class Table:
    """A table of a page.

    Attributes:
        page: The page, from the root of the repository.
        commands: As they are printed, without ``--json``; `$SKR_DATA` is the folder of the data.
        lines: From what the commands printed to the lines of the table: objects, and the text of a
            benchmark that prints a table itself.
    """

    page: str
    commands: Sequence[str]
    lines: Callable[..., Iterable[str]]


def means(
    *measures: str,
    names: Mapping[str, str] | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
) -> Callable[[Mapping[str, Any]], Iterator[str]]:
    """A table of rows by measures.

    Args:
        *measures: The measures, in the order of the columns.
        names: What rows are called here, by their names; other rows are left out. None keeps all.
        more: Further columns by their headings, as texts by the names of rows.
    """

    def lines(found: Mapping[str, Any]) -> Iterator[str]:
        rows = rows_of(found)
        yield from heading(["", *map(in_words, measures), *(more or {}), "n"])
        for name, label in (names or {each: in_words(each) for each in rows}).items():
            cells = rows[name]
            n = max(cell["n"] for cell in cells.values())
            told = [
                figure(cells.get(each), n, signed=each.startswith("over_")) for each in measures
            ]
            told += [column.get(name, "–") for column in (more or {}).values()]
            yield f"| {label} | {' | '.join(told)} | {n:,} |"

    return lines


def rows_of(found: Mapping[str, Any]) -> dict[str, Cells]:
    """The rows of an experiment, or the routers of a replay."""
    if "result" in found:
        return {row["name"]: row["cells"] for row in found["result"]["rows"]}
    routers: dict[str, Any] = found.get("overall", found)["routers"]
    return {name: {key: each for key, each in cells.items() if key != "reliability"}
            for name, cells in routers.items()}  # fmt: skip


def heading(columns: Sequence[str]) -> Iterator[str]:
    """The head of a table, whose first column is the only one of words."""
    yield f"|{'|'.join(f' {each} ' if each else ' ' for each in columns)}|"
    yield "|---|" + "---:|" * (len(columns) - 1)


def figure(cell: Mapping[str, Any] | None, n: int | None = None, *, signed: bool = False) -> str:
    """A mean with its interval, and its own n where it is not that of its row."""
    if cell is None or not cell["n"]:
        return "–"
    text = shown(Interval(**cell), signed=signed)
    return text if n is None or cell["n"] == n else f"{text}, n {cell['n']:,}"


def several_rounds(found: Mapping[str, Any]) -> Iterator[str]:
    """One round beside several, in all and by set."""
    yield from heading(["", "one round", "several", "gain, paired", "n"])
    for name, group in {"all": found["overall"], **found["groups"]}.items():
        several = group["routers"]["loop"]
        one, gain = group["constants"]["single"], several["over_always"]
        told = figure(one), figure(several["accuracy"]), figure(gain, signed=True)
        yield f"| {name} | {' | '.join(told)} | {several['accuracy']['n']:,} |"


CHATGPT = {
    "unc_rate": 0.254, "accuracy": 0.468, "conservativeness": 0.060, "overconfidence": 0.338,
    "alignment": 0.602, "static": 0.506, "adaptive": 0.490,
}  # fmt: skip
"""W2R Tables 5 and 6: ChatGPT on 500 questions of NQ, Vanilla, dense documents."""


def beside_w2r(found: Mapping[str, Any]) -> Iterator[str]:
    """The measures of one recording beside those of the paper."""
    [cells] = rows_of(found).values()
    n = cells["accuracy"]["n"]
    yield from heading(["ChatGPT, NQ, Vanilla", f"here (n {n})", "paper (n 500)"])
    for name, printed in CHATGPT.items():
        yield f"| {in_words(name)} | {figure(cells[name])} | {printed:.3f} |"


SETS = ("HotpotQA", "2WikiMultihopQA", "MuSiQue", "HotpotQA, with sentences", "StrategyQA")
LOOP = (
    *("title_recall", "all_titles", "fact_recall", "answer_accuracy", "citation_precision"),
    *("citation_recall", "rounds", "calls", "prompt_tokens"),
)


def single_and_loop(*found: Mapping[str, Any]) -> Iterator[str]:
    """A single shot and the loop on each set, and the gain."""
    tables = [rows_of(each) for each in found]
    counts = [table["loop"]["answer_accuracy"]["n"] for table in tables]
    sets = [f"{name} ({n})" for name, n in zip(SETS, counts, strict=True)]
    yield from heading(["single shot → loop", *sets])
    for name in LOOP:
        told = []
        for table in tables:
            cells = [table[system].get(name) for system in ("single_shot", "loop")]
            told.append(" → ".join(figure(each).partition(" (")[0] for each in cells))
        yield f"| {in_words(name)} | {' | '.join(told)} |".replace("– → –", "–")
    for name in ("all_titles", "fact_recall", "answer_accuracy"):
        gains = [each["result"]["comparisons"][0]["cells"].get(name) for each in found]
        told = [figure(each, signed=True) for each in gains]
        yield f"| gain in {in_words(name)}, paired | {' | '.join(told)} |"


SOURCES = {
    "Llama-3.1-8B, six sets": "adarague_llama31_8b_dev",
    "Llama-3.1-8B, tables": "adarague_table_llama31_8b_train",
    "GPT-3, RealTime QA 2022-2023": "realtimeqa_gpt3_2022_2023",
    "ChatGPT, Natural Questions": "whentoretrieve_nq_chatgpt",
    "GPT-3, TemporalQA": "skr_temporalqa_instructgpt",
}
TOLD = {
    name: SOURCES[name]
    for name in (
        "Llama-3.1-8B, six sets",
        "GPT-3, RealTime QA 2022-2023",
        "ChatGPT, Natural Questions",
    )
}
"""Sources of which it is told how true the chances are."""
BY_SET = "--by extra.dataset"


def replayed(file: str, routers: str, *more: str) -> str:
    """The command that replays routers on a file of records."""
    return " ".join(["skr replay --train", data(file), *more, "--router", routers])


def data(name: str) -> str:
    """A file of recorded data, as a command names it."""
    return f"$SKR_DATA/{name}.jsonl.gz"


def sources(*found: Mapping[str, Any]) -> Iterator[str]:
    """What is recommended on each source, beside never and always."""
    yield from heading(["", "never", "always", "recommended", "retrieved", "over always", "n"])
    for name, each in zip(SOURCES, found, strict=True):
        rows = rows_of(each)
        best = rows["recommended"]
        told = [figure(rows[router]["accuracy"]) for router in ("never", "always", "recommended")]
        told += [f"{best['retrieval_rate']['mean']:.2f}", figure(best["over_always"], signed=True)]
        yield f"| {name} | {' | '.join(told)} | {best['accuracy']['n']:,} |"


def arbiters(two: Mapping[str, Any], three: Mapping[str, Any]) -> Iterator[str]:
    """The arbiter of two and of three answers against the best constant policy, by set."""
    columns = ("", "best constant of two", "arbiter of two", "against it")
    yield from heading([*columns, "best of three", "arbiter of three", "against it", "n"])
    for name in ("all", *two["groups"]):
        told = []
        for found in (two, three):
            group = found["overall"] if name == "all" else found["groups"][name]
            arbiter = group["routers"]["arbiter"]
            best = max(group["constants"].values(), key=lambda each: each["mean"])
            told += [f"{best['mean']:.3f}", figure(arbiter["accuracy"])]
            told.append(figure(arbiter["over_best"], signed=True))
        yield f"| {name} | {' | '.join(told)} | {arbiter['accuracy']['n']:,} |"


def served(*found: Mapping[str, Any]) -> Iterator[str]:
    """What an arbiter of two answers serves, beside never and always, by source."""
    yield from heading(["", "never", "always", "arbiter of two", "over always", "n"])
    for name, each in zip(TOLD, found, strict=True):
        rows = rows_of(each)
        told = [figure(rows[router]["accuracy"]) for router in ("never", "always", "arbiter")]
        told.append(figure(rows["arbiter"]["over_always"], signed=True))
        yield f"| {name} | {' | '.join(told)} | {rows['arbiter']['accuracy']['n']:,} |"


def chances(*found: Mapping[str, Any]) -> Iterator[str]:
    """How true the chances of what is served are, and how often the surest answers are right."""
    shares = (0.75, 0.5, 0.25)
    surest = [f"surest {share:.0%}" for share in shares]
    yield from heading(["", "off by", "Brier", "all right", *surest, "n"])
    for name, each in zip(TOLD, found, strict=True):
        for router in ("arbiter", "ladder"):
            cells = each.get("overall", each)["routers"][router]
            known = cells["reliability"]
            accuracies = {round(row["share"], 2): row["accuracy"] for row in known["surest"]}
            told = [f"{known['error']:.3f}", f"{known['brier']:.3f}", figure(cells["accuracy"])]
            told += [figure(accuracies[share]).partition(", n")[0] for share in shares]
            told.append(f"{cells['accuracy']['n']:,}")
            yield f"| {name}, `{router}` | {' | '.join(told)} |"


def measured(part: str) -> Callable[[], Iterable[str]]:
    """The table of a benchmark, as it was measured last."""

    def lines() -> Iterable[str]:
        known = json.loads((LAB / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
        return page.table(known["parts"][part]["rows"])

    return lines


def _of(experiment: str, file: str) -> list[str]:
    return [f"skr-lab run {experiment} --set recorded={data(file)}"]


def _asked(experiment: str, *more: str) -> list[str]:
    asked = f"skr-lab run {experiment} --set questions={data('multihop_hotpotqa_contexts')}"
    return [" \\\n  --set ".join([asked, *more])]


LLAMA, NQ = SOURCES["Llama-3.1-8B, six sets"], SOURCES["ChatGPT, Natural Questions"]
TEMPORAL = SOURCES["GPT-3, TemporalQA"]
CERTAINTY = ("unc_rate", "accuracy", "conservativeness", "overconfidence", "alignment")
REFLECTION = tuple(
    "reflection_accuracy reflection_f1 insufficient_found sufficient_sent_back".split()
)
REFERENCES = ("answer_accuracy", "citation_recall", "citation_precision", "prompt_tokens")
GROWING = ("answer_accuracy", "beneficial_guidance")
RELIANCE = ("utilisation_ratio", "corruption_rate")
CORPORA = ("hotpotqa", "2wikimultihopqa", "musique")
TABLES = {
    "skr-table-1": Table(PAPERS, _of("recorded-self-knowledge", TEMPORAL), means(
        *("recorded_score", "exact_match", "retrieved", "beneficial_guidance"),
        "accuracy_when_known",
        more={"paper: EM": {name: f"{em / 100:.3f}" for name, (em, _) in PUBLISHED.items()}},
    )),
    "skr-figure-4": Table(PAPERS, _of("recorded-self-knowledge", LLAMA), means(
        *("beneficial_guidance", "recorded_score", "retrieved"),
        names={"cot_ir": "always", "skr_knn": "SKR_knn", "skr_cls": "SKR_cls"},
    )),
    "skr-figure-5-llama": Table(PAPERS, _of("training-size", LLAMA), means(*GROWING)),
    "skr-figure-5-chatgpt": Table(PAPERS, _of("training-size", NQ), means(*GROWING)),
    "skr-figure-6": Table(PAPERS, _asked(
        "corpora", "search=bm25 --set model=extractive",
        "corpora=" + ",".join(data(f"corpus_{each}") for each in CORPORA),
    ), means("answer_accuracy", "title_recall")),
    "skr-tables-6-7": Table(PAPERS, _asked(
        "retrieval-quality", f"corpus={data('corpus_hotpotqa')}",
    ), means("title_recall", "all_titles", "answer_accuracy")),
    "rallm-figure-3": Table(PAPERS, _asked("knowledge-precision"), means(*REFERENCES)),
    "rallm-table-3": Table(PAPERS, _asked("knowledge-recall"), means(*REFERENCES)),
    "rallm-table-4": Table(PAPERS, [replayed(LLAMA, "never,always,loop", BY_SET)], several_rounds),
    "rallm-reflection": Table(PAPERS, _asked("reflection"), means(*REFLECTION)),
    "rallm-reflection-gpt4": Table(
        PAPERS, _of("recorded-reflection", "replies_financebench_gpt4"), means(*REFLECTION)
    ),
    "rallm-reflection-llama": Table(PAPERS, _of("recorded-reflection", LLAMA), means(*REFLECTION)),
    "w2r-table-6": Table(PAPERS, _of("recorded-certainty", NQ), beside_w2r),
    "w2r-unknownbench": Table(
        PAPERS, _of("recorded-certainty", "unknownbench_refunq_confidence"), means(*CERTAINTY)
    ),
    "w2r-figure-1": Table(PAPERS, _of("recorded-reliance", NQ), means(
        *(f"{each}{after}" for each in RELIANCE for after in ("", "_arbiter"))
    )),
    "w2r-reliance": Table(PAPERS, _asked("reliance"), means("answer_accuracy", *RELIANCE)),
    "loop": Table(RESULTS, [
        *(f"skr evaluate {data(f'multihop_{each}_contexts')} --corpus {data(f'corpus_{each}')} "
          "--model extractive" for each in CORPORA),
        f"skr evaluate {data('multihop_hotpotqa_sentences')} --corpus {data('corpus_hotpotqa')} "
        "--model extractive",
        f"skr evaluate {data('multihop_strategyqa_evidence')} --model extractive",
    ], single_and_loop),
    "routing": Table(RESULTS, [replayed(
        LLAMA, "always,never,recommended,ladder,question,arbiter,paper,benefit,classifier",
        "--actions direct,single",
    )], means("accuracy", "retrieval_rate", "over_always")),
    "budgets": Table(RESULTS, _of("replayed-ladder", LLAMA), means("accuracy", "retrievals")),
    "arbiters": Table(RESULTS, [
        replayed(LLAMA, "arbiter", "--actions direct,single", BY_SET),
        replayed(LLAMA, "arbiter", BY_SET),
    ], arbiters),
    "sources": Table(ROUTING, [
        replayed(each, "never,always,recommended", "--actions direct,single")
        for each in SOURCES.values()
    ], sources),
    "served": Table(TRUST, [
        replayed(each, "never,always,arbiter", "--actions direct,single") for each in TOLD.values()
    ], served),
    "chances": Table(TRUST, [replayed(each, "arbiter,ladder") for each in TOLD.values()], chances),
    **{each: Table(TRUST, [f"python -m benchmarks.{each}"], str.splitlines)
       for each in ("confirming", "drafts", "alarms", "refusals")},
    "cost": Table(RESULTS, [], measured("cost")),
    "kinds": Table(RESULTS, [], measured("kinds")),
}  # fmt: skip
CHEAP = ("rallm-table-4", "w2r-table-6", "cost", "kinds")
"""Made within seconds: what the tests compare."""


def made(name: str) -> str:
    """The commands of a table and what they find, as the page has them."""
    table = TABLES[name]
    printed = [run(command) for command in table.commands]
    fenced = ["```sh", *table.commands, "```", ""] if table.commands else []
    return "\n".join([*fenced, *table.lines(*printed)])


def run(command: str) -> Any:
    """What a command prints: the object of ``--json``, or the table of a benchmark."""
    program, *arguments = words_of(command.replace("$SKR_DATA", shlex.quote(str(DATA))))
    is_ours = program in MODULES
    given = ["-m", MODULES[program], *arguments, "--json"] if is_ours else arguments
    paths = os.pathsep.join(filter(None, [str(LAB), *sys.path]))
    env = {**os.environ, "PYTHONPATH": paths, "SKR_DATA": str(DATA)}
    command_line = [sys.executable, *given]
    ran = subprocess.run(command_line, stdout=subprocess.PIPE, text=True, check=True, env=env)
    return json.loads(ran.stdout) if is_ours else ran.stdout.strip()


def words_of(command: str) -> list[str]:
    """The words of a command, which may go on behind a backslash on the next line."""
    return shlex.split(command.replace("\\\n", " "))


def place_of(name: str) -> re.Pattern[str]:
    """Where a table stands on its page: its text, and the line that dates it."""
    begin, end = rf"<!-- results: {re.escape(name)} -->\n\n", r"\n<!-- end of results -->"
    return re.compile(rf"(?<={begin})(?P<text>.*?)\n(?P<dated>\n[^\n]*\n)?(?={end})", re.DOTALL)


def said(name: str) -> str:
    """What the page says of a table, without the date."""
    found = place_of(name).search((ROOT / TABLES[name].page).read_text(encoding="utf-8"))
    if found is None:
        raise LookupError(f"{TABLES[name].page} has no place for {name}")
    return found["text"]


def write(name: str, text: str) -> None:
    """Put a table on its page, dated where commands have made it now."""
    path = ROOT / TABLES[name].page
    dated = f"\nMade by `make results` on {datetime.now(UTC):%Y-%m-%d}.\n"
    whole = f"{text}\n{dated if TABLES[name].commands else ''}"
    written = place_of(name).sub(lambda _: whole, path.read_text(encoding="utf-8"))
    path.write_text(written, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(TABLES)}")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    if unknown := sorted({*options.names} - {*TABLES}):
        parser.error(f"no table {unknown[0]!r}: known are {', '.join(TABLES)}")
    stale = 0
    for name in options.names or TABLES:
        begin, before = time.perf_counter(), said(name)
        text = made(name)
        told = "as it was" if text == before else "not what the page said"
        print(f"{name}: {told}, {time.perf_counter() - begin:.0f} s", flush=True)
        stale += text != before
        if not options.check:
            write(name, text)
    return int(options.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
