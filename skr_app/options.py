"""Options that several commands share, each written once.

Options that belong together are the fields of a dataclass, and a command takes the dataclass as one
parameter: `spread` shows the fields to Typer as the command's own options. A default that a setting
or a budget has is read from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import typer
from platformdirs import user_data_path

from skr_core.budget import Budget
from skr_core.settings import Settings, WhenInsufficient
from skr_learn.scoring import Metric

T = TypeVar("T")

DEFAULT_STORE = str(user_data_path("skr-rag", appauthor=False) / "store")
LIMITS = Budget()
"""The limits of a question where no option says otherwise."""


def spread(command: Callable[..., T]) -> Callable[..., T]:
    """Replace each parameter of a command that is a dataclass of options by the options.

    Args:
        command: The command. A parameter annotated with a dataclass stands for its fields, which
            are annotated as Typer's options are and have defaults.

    Returns:
        The command with the fields as keyword parameters; it makes the dataclasses of them.

    Example:
        >>> @dataclass
        ... class Greeting:
        ...     word: Annotated[str, typer.Option("--word", help="The word to greet with.")] = "Hi"
        >>> @spread
        ... def greet(name: str, greeting: Greeting, loud: bool = False) -> str:
        ...     return f"{greeting.word}, {name}!"
        >>> list(signature(greet).parameters)
        ['name', 'word', 'loud']
        >>> greet(name="Ada", word="Good day")
        'Good day, Ada!'
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, each in signature(command).parameters.items():
        if name in groups:
            parameters += _parameters_of(groups[name])
        else:
            parameters.append(each.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @wraps(command)
    def spread_out(**given: Any) -> T:
        for name, group in groups.items():
            chosen = {each.name for each in fields(group)} & given.keys()
            given[name] = group(**{each: given.pop(each) for each in chosen})
        return command(**given)

    spread_out.__annotations__ = {each.name: each.annotation for each in parameters}
    spread_out.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return spread_out


def _parameters_of(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name]
        )
        for each in fields(group)
    ]


Question = Annotated[str, typer.Argument(help="What you want to know.", show_default=False)]
Questions = Annotated[
    Path,
    typer.Argument(
        help="JSON Lines, JSON, CSV, TSV or Parquet with question and answers, or with the names "
        "that ragas, LangSmith, LlamaIndex and Hugging Face have for them; or see --dataset.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out lines that cannot be read, and count them.")
]
Store = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="SKR_STORE",
        help="Folder of the reference store, or the URL of a `skr store serve` server.",
        show_default="your data folder",
    ),
]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        envvar="SKR_MODEL",
        help="`extractive` (a baseline that needs no key; `extractive:FILE` knows what stands in a "
        "file of passages), or a chat model: `openai:gpt-4.1-mini`, "
        "`anthropic:claude-haiku-4-5`, or any name with --base-url; or `module:name`, your own "
        "model of LangChain or LlamaIndex, or a function that makes it. SKR_TEMPERATURE is sent "
        "with each request to a model that is named; without, none is.",
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        envvar="SKR_BASE_URL",
        help="Address of an OpenAI-compatible server: Ollama, vLLM, LM Studio. OPENAI_BASE_URL "
        "works too.",
    ),
]
Deadline = Annotated[
    float | None,
    typer.Option(
        "--deadline",
        min=0.001,
        help="Seconds for a question; then the best draft so far is served, or it has failed.",
    ),
]
Embedder = Annotated[
    str,
    typer.Option(
        "--embedder",
        envvar="SKR_EMBEDDER",
        help="`hashing` (needs no download), or a sentence-transformers model: name or folder.",
    ),
]
SearchMode = Literal["hybrid", "dense", "bm25"]
Search = Annotated[
    SearchMode, typer.Option("--search", envvar="SKR_SEARCH", help="How the store is searched.")
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Use the router although it was made with another model."),
]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The model that answers, and what asking it may cost."""

    model: Model = "extractive"
    base_url: BaseUrl = None
    deadline: Deadline = None
    max_spend: Annotated[
        float | None,
        typer.Option(
            "--max-spend",
            min=0.0,
            help="US dollars for all that this command asks, by --prices. What was answered is "
            "kept.",
        ),
    ] = None
    prices: Annotated[
        Path | None,
        typer.Option(
            "--prices",
            help='JSON of your prices in USD a million tokens: {"MODEL": {"prompt": 1, '
            '"completion": 2, "cache_read": 0.25}}; the last, for tokens that the provider reads '
            "from its cache, is optional.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SystemOptions(ModelOptions):
    """The system that answers: how it searches, and the settings of its loop."""

    retriever: Annotated[
        str | None,
        typer.Option(
            "--retriever",
            metavar="MODULE:NAME",
            help="Your own retriever in place of the store, such as `app:retriever`: an object of "
            "LangChain or LlamaIndex, or a function that makes it, in a module of this folder or "
            "an installed one.",
        ),
    ] = None
    embedder: Embedder = "hashing"
    search: Search = "hybrid"
    max_rounds: Annotated[
        int, typer.Option("--max-rounds", min=1, help="Rounds of retrieval; 1 is single shot.")
    ] = LIMITS.max_rounds
    templates: Annotated[
        str | None,
        typer.Option(
            "--templates",
            help="The words of the prompts, for every system: `default`, `rallm`, `skr`, `w2r`, or "
            "a JSON file with some of answer_directly, answer_with_references, answer_anyway and "
            "self_complete.",
        ),
    ] = None
    demonstrations: Annotated[
        Path | None,
        typer.Option(
            "--demonstrations",
            help="JSONL with question, answer and perhaps contexts: worked examples, for every "
            "system.",
        ),
    ] = None
    when_insufficient: Annotated[
        WhenInsufficient,
        typer.Option(
            "--when-insufficient",
            metavar="<name>",
            help="What is answered when the references never sufficed: `best_draft`, "
            "`own_knowledge` (the best draft, or else what the model knows by itself) or `refuse`.",
        ),
    ] = Settings.when_insufficient
    reflector: Annotated[
        str,
        typer.Option(
            "--reflector",
            help="Judges whether a draft's references suffice: `refusal` (the verdict in the "
            "model's own reply), `judge` or `judge:MODEL` (one call more), "
            "`entailment:lexical|nli:NAME|judge:MODEL` (each sentence follows from what it cites), "
            "`learned:FILE`, made by `skr calibrate --reflector`, or a registered name.",
        ),
    ] = "refusal"
    decompose: Annotated[
        bool,
        typer.Option(
            "--decompose",
            help="Ask for the parts of a question before the first search; one call.",
        ),
    ] = Settings.decompose


@dataclass(frozen=True, kw_only=True)
class AskOptions(SystemOptions):
    """The system that answers a person's questions, over a store that is there already."""

    store: Store = DEFAULT_STORE
    max_calls: Annotated[
        int | None, typer.Option("--max-calls", min=1, help="Calls of the model.")
    ] = LIMITS.max_calls
    router: Annotated[
        Path | None,
        typer.Option(
            "--router",
            help="File of a router that `skr calibrate` made, or the name of one that needs no "
            "records, such as `never` or `confidence:explain`; without, every question is "
            "retrieved for.",
        ),
    ] = None
    abstain_below: Annotated[
        float | None,
        typer.Option(
            "--abstain-below",
            min=0,
            max=1,
            help="Serve no answer that is less likely to be right than this; `skr calibrate` tells "
            "how often the surest are right.",
        ),
    ] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class BatchOptions(SystemOptions):
    """The system that answers a file of questions, and what it searches."""

    store: Annotated[
        str | None,
        typer.Option("--store", envvar="SKR_STORE", help="A store that is there already."),
    ] = None
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus",
            help="JSONL with id, title, text, ingested for this run alone. Without it and --store, "
            "the contexts in the questions file are the corpus.",
        ),
    ] = None
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            metavar="<name>",
            help="The questions file has the form of this source, which a package registers: with "
            "skr-lab installed the published data sets, such as hotpotqa.",
        ),
    ] = None
    question_field: Annotated[
        str | None,
        typer.Option("--question-field", help="Field of the file that holds the question."),
    ] = None
    answer_field: Annotated[
        str | None,
        typer.Option("--answer-field", help="Field of the file that holds the right answers."),
    ] = None
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Questions at most.")] = None
    concurrency: Annotated[
        int,
        typer.Option(
            "--concurrency", min=1, help="Questions under way at a time, over all workers."
        ),
    ] = 8
    requests_per_second: Annotated[
        float | None,
        typer.Option(
            "--requests-per-second",
            min=0.0,
            help="Requests to models that begin in a second, at most, over all workers.",
        ),
    ] = None
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            envvar="SKR_CACHE",
            help="Folder in which models' replies are kept: what was asked before costs nothing.",
        ),
    ] = None
    skip_bad: SkipBad = False
    metric: Annotated[
        Metric | None,
        typer.Option(
            "--metric",
            help="How answers are compared with the right ones; by default by what contains one, "
            "or by `f1` where the right answers are sentences.",
            show_default=False,
        ),
    ] = None
    judge: Annotated[
        str | None,
        typer.Option("--judge", help="A model that says right or wrong, in place of --metric."),
    ] = None
    rubric: Annotated[
        Path | None,
        typer.Option("--rubric", help="A text that tells the judge what makes an answer right."),
    ] = None
    marked: Annotated[
        Path | None,
        typer.Option(
            "--marked",
            help="JSONL of answers that a person has marked: question, answers, reply, and right "
            "(true or false). How often the judge or metric says the same is told first.",
        ),
    ] = None
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Do not ask whether to go on. What it will cost is said all the same; where "
            "standard input is no terminal nothing is ever asked.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class AimOptions:
    """The records that are looked at, and what a rule for them is chosen for."""

    actions: Annotated[
        str | None,
        typer.Option(
            "--actions",
            help="Choose among these: direct and single, loop or both, with commas between. By "
            "default all that every record holds.",
        ),
    ] = None
    retrieval_rate: Annotated[
        float | None,
        typer.Option(
            "--retrieval-rate", min=0, max=1, help="Best accuracy at this share of questions."
        ),
    ] = None
    cost_weight: Annotated[
        float | None,
        typer.Option(
            "--cost-weight",
            min=0,
            help="Best accuracy less this for each unit of cost: retrieval, call, 1,000 tokens or "
            "dollar.",
        ),
    ] = None
    budget: Annotated[
        float | None,
        typer.Option("--budget", min=0, help="Best accuracy at this cost a question."),
    ] = None
    stream: Annotated[
        bool,
        typer.Option(
            "--stream/--no-stream",
            help="Serve the last answer that was asked for, so that it streams.",
        ),
    ] = False
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="FIELD",
            help="Field of the records that makes groups: extra.dataset.",
            show_default=False,
        ),
    ] = ""
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="FIELD=VALUE",
            help="Only records that have this in their stamp or in extra, such as "
            "model=gpt-4.1-mini; may be repeated.",
        ),
    ] = None
    multistep_steps: Annotated[
        float,
        typer.Option("--multistep-steps", min=1, help="Retrievals of a loop that nobody counted."),
    ] = 3.35
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder",
            help="Look at vectors of questions and answers too: `hashing`, or a "
            "sentence-transformers model. Without, at words and numbers.",
        ),
    ] = None
    skip_bad: SkipBad = False

    @property
    def aim(self) -> dict[str, Any]:
        """The arguments of `calibrate` and `replay` that these options are."""
        return {
            "actions": split(self.actions) or None,
            "retrieval_rate": self.retrieval_rate,
            "cost_weight": self.cost_weight,
            "budget": self.budget,
            "stream": self.stream,
            "by": self.by,
            "assumed_steps": self.multistep_steps,
        }


def split(names: str | None) -> list[str]:
    """The names of an option that takes several, with commas between.

    Example:
        >>> split("direct, single")
        ['direct', 'single']
    """
    return [name.strip() for name in (names or "").split(",") if name.strip()]
