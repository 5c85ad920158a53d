"""All benchmarks, one after the other, each in a process of its own.

Those that need recorded data find them in the folder SKR_DATA, else in ../shared/data beside the
repository; without them they are left out, in words. Ends with 1 when one of them failed.

Usage: python -m benchmarks
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORPUS = "corpus_hotpotqa.jsonl.gz"
QUESTIONS = "multihop_hotpotqa_contexts.jsonl.gz"
ROUTED = "adarague_llama31_8b_dev.jsonl.gz"


def main() -> int:
    data = Path(os.environ.get("SKR_DATA") or ROOT.parent / "shared" / "data").resolve()
    # Each with the files that it needs.
    benchmarks: dict[str, tuple[list[str], list[Path]]] = {
        "ingestion": ([str(data / CORPUS)], [data / CORPUS]),
        "opening": ([], []),
        "embedders": (
            [str(data / CORPUS), str(data / QUESTIONS)],
            [data / CORPUS, data / QUESTIONS],
        ),
        "memory": ([str(data / QUESTIONS), str(data / CORPUS)], [data / QUESTIONS, data / CORPUS]),
        "concurrency": ([], []),
        "connections": ([], []),
        "loop": ([], []),
        "deciding": ([], []),
        "cost": ([], []),
        "routing": ([str(data), "--seeds", "2"], [data / ROUTED]),
        "arbiters": ([str(data / ROUTED)], [data / ROUTED]),
    }
    failed = False
    for name, (arguments, needed) in benchmarks.items():
        print(f"\n## {name}\n", flush=True)
        if missing := [str(path) for path in needed if not path.is_file()]:
            print(f"left out: there is no {', '.join(missing)}; set SKR_DATA to the data's folder")
            continue
        command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
        failed |= subprocess.run(command, cwd=ROOT).returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
