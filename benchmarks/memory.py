"""Peak memory of ``skr evaluate`` over recorded questions.

python -m benchmarks.memory QUESTIONS.jsonl.gz CORPUS.jsonl.gz
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys

LIMIT_GB = 1.5


def main(questions: str, corpus: str) -> None:
    command = [sys.executable, "-m", "skr_app.main", "evaluate", questions, "--corpus", corpus]
    done = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True)
    # Linux counts kilobytes; the largest of all children, of which there is one.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    asked = json.loads(done.stdout)["loop"]["n"]
    print(json.dumps({"questions": asked, "peak_gb": round(peak, 3), "limit_gb": LIMIT_GB}))


if __name__ == "__main__":
    main(*sys.argv[1:])
