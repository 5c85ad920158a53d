"""How often what is served keeps to what calibration promised, in six made-up worlds.

Each world (`made.py`) is asked through the served system, over a real socket, for a pool of
records. For some sizes and seeds records are drawn from it and calibrated, and what they yield is
judged on all others: how often accuracy, cost in tokens and share retrieved lie within the promised
95 % intervals. As the others are a sample too, intervals that are just right hold it a bit less
often: of 1,000 drawn from 4,000 in 91 of 100 cases, of 300 in 94 and of 100 in 95. Last, one router
a world is saved, loaded and served, and compared with its replay question by question.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.made import WORLDS, Item, MadeRetriever, World, served
from langchain_skr import load_model
from skr_core import Settings
from skr_core.types import Answer
from skr_graphs import GraphAnswerer
from skr_learn import Record, Records, calibrate, collect
from skr_learn.replaying import RouterResult, replay_saved

POOL = 4_000
SIZES = (100, 300, 1_000)
SEEDS = 10
SERVED, SERVED_SIZE = 100, 300
"""Questions that are asked of one router of each world, and the records that it has learnt from."""
CONCURRENCY = 4
FIGURES = ("accuracy", "cost", "retrieved")


@dataclass(frozen=True)
class Promise:
    """A figure as it was promised, and as it was on unseen questions.

    Attributes:
        mean: The figure promised.
        low: The lower end of its interval.
        high: The upper end.
        served: The figure on unseen questions.
    """

    mean: float
    low: float
    high: float
    served: float

    @property
    def kept(self) -> bool:
        """Whether what is served lies within the interval.

        Example:
            >>> Promise(0.5, 0.4, 0.6, served=0.55).kept
            True
        """
        return self.low - 1e-9 <= self.served <= self.high + 1e-9


@dataclass(frozen=True)
class Draw:
    """What was promised of one draw of records, and what was served.

    Attributes:
        world: The world's name.
        size: The number of records drawn.
        seed: The seed of the draw.
        state: What the summary finds.
        router: What it recommends.
        promises: The figures by name.
    """

    world: str
    size: int
    seed: int
    state: str
    router: str
    promises: dict[str, Promise]


def main() -> None:
    """Print a table, and one line for each world that was served."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help="some of them, by name")
    parser.add_argument("--folder", type=Path, required=True, help="where records are kept")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="draws of each size")
    parser.add_argument("--pool", type=int, default=POOL, help="questions of each world")
    parser.add_argument("--json", type=Path, help="a file for all draws")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    draws: list[Draw] = []
    for world in WORLDS:
        if options.worlds and world.name not in options.worlds:
            continue
        items = world.items(options.pool)
        with served(items) as url:
            records = collected(world, items, url, options.folder)
            for size in SIZES:
                for seed in range(options.seeds):
                    draws.append(draw(world, records, size, seed))
                print(row(world.name, size, draws[-options.seeds :]), file=sys.stderr, flush=True)
            print(through_the_graph(world, items, records, url, options.folder), flush=True)
        if options.json:
            options.json.write_text(json.dumps([asdict(each) for each in draws], indent=1))
    print("\n".join(table(draws)))


def collected(world: World, items: Sequence[Item], url: str, folder: Path) -> Records:
    """Ask all questions of a world, but for those that an earlier run has on record."""
    system = Settings.of(load_model("openai:made", base_url=url), MadeRetriever(items))
    return collect(
        [item.question for item in items],
        GraphAnswerer(system),
        out=folder / f"{world.name.replace(' ', '_')}.jsonl",
        metric=world.metric,
        concurrency=CONCURRENCY,
    )


def draw(world: World, records: Records, size: int, seed: int) -> Draw:
    """Calibrate on some records, and judge on the others."""
    drawn, others = split(records, size, seed)
    calibration = calibrate(drawn)
    summary = calibration.summary
    result = judged(calibration.router, others)
    found = {"accuracy": result.accuracy, "cost": result.cost, "retrieved": result.retrieval_rate}
    promises = {}
    for name, each in found.items():
        promised = getattr(summary.promised, name)
        promises[name] = Promise(promised.mean, promised.low, promised.high, each.mean)
    return Draw(world.name, size, seed, summary.state, summary.router, promises)


def split(records: Records, size: int, seed: int) -> tuple[Records, Records]:
    """Draw as many records, and return the others as well."""
    places = np.random.default_rng(seed).permutation(len(records))
    drawn, others = np.sort(places[:size]), np.sort(places[size:])
    return Records(records[int(each)] for each in drawn), Records(
        records[int(each)] for each in others
    )


def judged(router: Any, records: Sequence[Record]) -> RouterResult:
    """What the router serves of records that it has not seen."""
    return replay_saved(router, records).overall.routers["saved"]


def through_the_graph(
    world: World, items: Sequence[Item], records: Records, url: str, folder: Path
) -> str:
    """Serve one router, and tell of how many questions it does what replay says."""
    drawn, others = split(records, SERVED_SIZE, seed=0)
    calibration = calibrate(drawn)
    saved = folder / f"{world.name.replace(' ', '_')}.router"
    calibration.save(saved)
    by_text = {item.text: item for item in items}
    model = load_model("openai:made", base_url=url)
    system = GraphAnswerer(Settings.of(model, MadeRetriever(items), router=saved))
    differing = []
    for record in others[:SERVED]:
        answer = system.answer(record.question)
        expected = judged(calibration.router, [record])
        right = world.metric(answer, by_text[record.question].question)
        wanted = (expected.accuracy.mean, expected.cost.mean, expected.retrieval_rate.mean)
        got = (float(right), tokens(answer), float(answer.decision.retrieve))
        if not np.allclose(wanted, got):
            differing.append(f"{record.question} replay {wanted} graph {got}")
    first = f", such as {differing[0]}" if differing else ""
    equal = min(SERVED, len(others)) - len(differing)
    return f"{world.name}, {calibration.summary.router}: {equal} of {SERVED} as replayed{first}"


def tokens(answer: Answer) -> float:
    """What an answer cost, in thousands of tokens."""
    return answer.total_usage.total_tokens / 1000


def table(draws: Sequence[Draw]) -> Iterator[str]:
    """Markdown: a row for each world and size, for each size and over all."""
    named = [f"{name}: {what}" for name in FIGURES for what in ("kept", "width", "bias")]
    yield f"| world | records | {' | '.join(named)} | states | routers |"
    yield f"|---|---:|{'---:|' * len(named)}---|---|"
    worlds = list(dict.fromkeys(each.world for each in draws))
    for world in [*worlds, "all"]:
        for size in SIZES:
            some = [each for each in draws if each.size == size and world in (each.world, "all")]
            yield row(world, size, some)
    yield row("all", sum(SIZES), draws)


def row(world: str, size: int, draws: Sequence[Draw]) -> str:
    """One row: the share kept, the mean width, and how much more was promised than served."""
    cells = []
    for name in FIGURES:
        promises = [each.promises[name] for each in draws]
        cells += [
            f"{mean(each.kept for each in promises):.2f}",
            f"{mean(each.high - each.low for each in promises):.3f}",
            f"{mean(each.mean - each.served for each in promises):+.4f}",
        ]
    for values in ([each.state for each in draws], [each.router for each in draws]):
        cells.append(", ".join(f"{name} {values.count(name)}" for name in sorted(set(values))))
    return f"| {world} | {size} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
