import gzip
import json

import pytest

from skr_core import Reference
from skr_store import ChromaStore

pytestmark = [pytest.mark.data, pytest.mark.timeout(600)]


def rows(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# Plain BM25's figures over the same corpus and questions, see the README beside the data.
@pytest.mark.parametrize(
    ("name", "recall", "all_found"),
    [("hotpotqa", 0.854, 0.720), ("2wikimultihopqa", 0.7195, 0.424), ("musique", 0.6488, 0.3367)],
)
def test_one_search_finds_as_much_as_plain_bm25(data_dir, name, recall, all_found):
    corpus = rows(data_dir / f"corpus_{name}.jsonl.gz")
    questions = rows(data_dir / f"multihop_{name}_contexts.jsonl.gz")
    shares = []
    with ChromaStore.ephemeral(k=10) as store:
        store.add([Reference.of(row["text"], row["title"]) for row in corpus])
        for row in questions:
            found = {reference.title for reference in store.retrieve(row["question"])}
            wanted = set(row["supporting_titles"])
            shares.append(len(wanted & found) / len(wanted))
    assert sum(shares) / len(shares) >= recall - 5e-5
    assert sum(share == 1 for share in shares) / len(shares) >= all_found - 5e-5
