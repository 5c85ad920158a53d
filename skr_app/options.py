"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from platformdirs import user_data_path

DEFAULT_STORE = str(user_data_path("skr-rag", appauthor=False) / "store")


class SearchMode(StrEnum):
    """How a store searches."""

    hybrid = "hybrid"
    dense = "dense"
    bm25 = "bm25"


class WhenInsufficient(StrEnum):
    """What is answered when the references never sufficed."""

    best_draft = "best_draft"
    own_knowledge = "own_knowledge"
    refuse = "refuse"


StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="SKR_STORE",
        help="Folder of the reference store, or the URL of a `skr store serve` server.",
        show_default="your data folder",
    ),
]
GivenStoreOption = Annotated[
    str | None, typer.Option("--store", envvar="SKR_STORE", help="A store that is there already.")
]
CorpusOption = Annotated[
    Path | None,
    typer.Option(
        "--corpus",
        help="JSONL with id, title, text, ingested for this run alone. Without it and --store, "
        "the contexts in the questions file are the corpus.",
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        envvar="SKR_MODEL",
        help="`extractive` (a baseline that needs no key; `extractive:FILE` knows what stands in a "
        "file of passages), or a chat model: `openai:gpt-4.1-mini`, "
        "`anthropic:claude-haiku-4-5`, or any name with --base-url. SKR_TEMPERATURE is sent "
        "with each request; without, none is.",
    ),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        envvar="SKR_BASE_URL",
        help="Of an OpenAI-compatible server: Ollama, vLLM, LM Studio. OPENAI_BASE_URL works too.",
    ),
]
CacheOption = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        envvar="SKR_CACHE",
        help="Folder in which models' replies are kept: what was asked before costs nothing.",
    ),
]
EmbedderOption = Annotated[
    str,
    typer.Option(
        "--embedder",
        envvar="SKR_EMBEDDER",
        help="`hashing` (needs no download), or a sentence-transformers model: name or folder.",
    ),
]
SearchOption = Annotated[
    SearchMode, typer.Option("--search", envvar="SKR_SEARCH", help="How the store is searched.")
]
MaxRoundsOption = Annotated[
    int, typer.Option("--max-rounds", min=1, help="Rounds of retrieval; 1 is single shot.")
]
WhenInsufficientOption = Annotated[
    WhenInsufficient,
    typer.Option(
        "--when-insufficient",
        metavar="<name>",
        help="What is answered when the references never sufficed: `best_draft`, `own_knowledge` "
        "(the best draft, or else what the model knows by itself) or `refuse`.",
    ),
]
DecomposeOption = Annotated[
    bool,
    typer.Option(
        "--decompose", help="Ask for the parts of a question before the first search; one call."
    ),
]
TemplatesOption = Annotated[
    str | None,
    typer.Option(
        "--templates",
        help="The words of the prompts, for every system: `default`, `rallm`, `skr`, `w2r`, or a "
        "JSON file with some of answer_directly, answer_with_references, answer_anyway and "
        "self_complete.",
    ),
]
DemonstrationsOption = Annotated[
    Path | None,
    typer.Option(
        "--demonstrations",
        help="JSONL with question, answer and perhaps contexts: worked examples, for every system.",
    ),
]
LikelihoodsOption = Annotated[
    bool,
    typer.Option(
        "--likelihoods",
        help="Ask the model's server how likely it finds its own answer and the one from "
        "references (six short prompts, nothing generated): vLLM and llama-cpp-python tell.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out lines that cannot be read, and count them.")
]
ForceOption = Annotated[
    bool,
    typer.Option("--force", help="Use the router although it was made with another model."),
]
QuestionsArgument = Annotated[
    Path,
    typer.Argument(
        help="JSONL with question and answers (also .gz), or see --dataset.", show_default=False
    ),
]
DatasetOption = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        metavar="<name>",
        help="The questions file has the form of this source, which a package registers: with "
        "skr-lab installed the published data sets, such as hotpotqa.",
    ),
]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, help="Questions at most.")]
ConcurrencyOption = Annotated[
    int,
    typer.Option("--concurrency", min=1, help="Questions under way at a time, over all workers."),
]
