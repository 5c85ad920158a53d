"""Models without weights, so that everything runs out of the box.

`ExtractiveModel` answers, `LexicalEntailment` judges whether one text follows from another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skr_app.extractive.evidence import (
    Sentence,
    choose_best,
    choose_quotes,
    covered,
    is_sufficient,
    read_sentences,
    speaks_of_all,
    term_weights,
    without_brackets,
)
from skr_app.extractive.follow_up import follow_up_queries
from skr_app.extractive.one_sentence import find_sentence
from skr_app.extractive.text import content_words, names, stem
from skr_core.budget import TokenCount, count_tokens, estimate_usage
from skr_core.errors import InputError
from skr_core.files import read_jsonl
from skr_core.ports import Entailment, OnToken
from skr_core.prompts.routing import ANSWER_ALONE, CERTAINTY_ALONE
from skr_core.prompts.templates import (
    INSUFFICIENT,
    MAX_QUERIES,
    QUERY_LEAD,
    REFUSAL,
    SEARCH_LEAD,
    SUFFICIENT,
)
from skr_core.texts import straight_quotes
from skr_core.types import Generation, Prompt, Reference

NAME = "extractive"
UNKNOWN = "I don't know."
# A statement is called certain that speaks of so much of the question; where the prompt threatens
# with punishment, or doubts the answer, of so much.
CERTAIN = 0.55
CERTAIN_THOUGH_WARNED = 0.75
_FILE_NAME = re.compile(
    r"://|\.(?:md|txt|rst|html?|pdf|jsonl?|csv|docx?|pptx?|xlsx?|py|ipynb)\Z", re.IGNORECASE
)
# A statement that speaks of less than this of the question answers another one.
LEAST_SUPPORT = 0.4


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer of a memory to a question.

    Attributes:
        text: The statement; empty where it says nothing.
        support: The share of the question that the statement speaks of, 0 to 1.
    """

    text: str = ""
    support: float = 0.0


class Memory:
    """Statements that are believed, whether they are still true or not.

    Args:
        statements: Passages, as a store holds them: what each says of its title.

    Attributes:
        version: A hash of what is known, empty where that is nothing: what was collected with one
            memory does not describe another.

    Example:
        >>> memory = Memory([Reference.of("The mayor of Arden is Ada Moor.", "Arden")])
        >>> memory.recall("Who is mayor of Arden?").text
        'The mayor of Arden is Ada Moor.'
        >>> memory.recall("Who built the bridge?").text
        ''
    """

    def __init__(self, statements: Sequence[Reference] = ()) -> None:
        # No statement is better for its place in the memory, as a passage is for its rank.
        self._sentences = [sentence for each in statements for sentence in read_sentences([each])]
        ids = "\x00".join(each.id for each in statements).encode()
        self.version = hashlib.blake2b(ids, digest_size=4).hexdigest() if ids else ""

    def recall(self, question: str) -> Recalled:
        """The statement that speaks most of a question, where one speaks enough of it.

        It has to name whatever the question names: what is known of one town is no answer about
        another.
        """
        weights = term_weights(question, self._sentences)
        named = {stem(word) for name in names(question) for word in content_words(name)}
        about = [each for each in self._sentences if named <= each.words]
        best = choose_best(question, weights, about)
        support = covered(weights, best.words) if best else 0.0
        if best is None or support < LEAST_SUPPORT:
            return Recalled()
        return Recalled(best.text, support)


class ExtractiveModel:
    """A baseline that quotes instead of writing: deterministic, no download, no key, no network.

    It answers with at most four sentences of the references, each followed by its [n] marker. When
    they leave something open it says so, in the words that the prompt asks for, and asks for names
    that no reference is about.

    Without references it says what its memory holds, as far as that speaks of the question, and
    else "I don't know.". It believes its memory, which may be out of date, and says how certain it
    is by how much of the question a statement speaks of: often too certain, as models are. So
    what a model knows can be collected, calibrated and weighed without one. Use it to see the loop
    work, in tests, and as the floor that a real model has to beat.

    It reads the parts of a prompt and little of its text; demonstrations are ignored.

    Args:
        memory: Passages that hold what it knows by itself; nothing by default.
        one_sentence: Whether it answers from references in one sentence, with the marker of the
            passage that led to it too, and says nothing where they do not suffice.
        count: The function that counts the tokens of a text, for its usage.

    Attributes:
        name: ``extractive``, with a hash of its memory where it has one.

    Example:
        >>> from skr_core.prompts.asking import answer_directly, answer_with_references
        >>> capital = Reference.of("Paris is the capital of France.", "Paris")
        >>> prompt = answer_with_references("What is the capital of France?", [capital])
        >>> ExtractiveModel().generate(prompt).text
        'SUFFICIENT\\nParis is the capital of France. [1]'
        >>> old = ExtractiveModel([Reference.of("Bonn is the capital of Germany.", "Bonn")])
        >>> old.generate(answer_directly("What is the capital of Germany?")).text
        'Bonn is the capital of Germany.'
    """

    def __init__(
        self,
        memory: Sequence[Reference] = (),
        *,
        one_sentence: bool = False,
        count: Callable[[str], TokenCount] = count_tokens,
    ) -> None:
        self._memory = Memory(memory)
        self._read = _read_one_sentence if one_sentence else _read
        self._count = count
        self.name = f"{NAME}@{self._memory.version}" if memory else NAME

    def generate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Reply to a prompt; `on_token` gets the reply word by word."""
        text = self._reply(prompt)
        if on_token is not None:
            for place, word in enumerate(text.split(" ")):
                on_token(f" {word}" if place else word)
        return Generation(text, estimate_usage(prompt, text, self._count))

    async def agenerate(self, prompt: Prompt, *, on_token: OnToken | None = None) -> Generation:
        """Async version of `generate`: a few milliseconds of work, and nothing to wait for."""
        return self.generate(prompt, on_token=on_token)

    def _reply(self, prompt: Prompt) -> str:
        match prompt.task:
            case "answer_with_references":
                return self._stated(prompt) if prompt.states_verdict else self._answer(prompt)
            case "answer_anyway":
                return self._read(prompt)[0] or self._known(prompt)
            case "answer_directly":
                return self._known(prompt)
            case "self_complete":
                return _ask(prompt)
            case "condense":
                return prompt.question  # to rewrite it would take a language
            case "ask_certainty":
                return self._certainty(prompt)
            case "ask_need":
                known = self._memory.recall(prompt.question).text
                return "I can answer this question." if known else UNKNOWN
            case "judge":
                _, suffices = self._read(prompt)
                return "sufficient" if suffices else "insufficient: names to be looked up"
            case _:
                return UNKNOWN

    def _stated(self, prompt: Prompt) -> str:
        """The verdict on its line, what is supported, and what to search where that lacks."""
        answer, suffices = self._read(prompt)
        if suffices:
            return f"{SUFFICIENT}\n{answer}"
        queries = [f"{SEARCH_LEAD} {query}" for query in _queries(prompt)]
        return "\n".join(filter(None, [INSUFFICIENT, answer, *queries]))

    def _answer(self, prompt: Prompt) -> str:
        """The answer, or RaLLM's refusal sentence."""
        answer, suffices = self._read(prompt)
        return answer if suffices else REFUSAL

    def _known(self, prompt: Prompt) -> str:
        return self._memory.recall(prompt.question).text or UNKNOWN

    def _certainty(self, prompt: Prompt) -> str:
        """An answer and how certain it is, or the part that the prompt asks for (W2R §3.1)."""
        recalled = self._memory.recall(prompt.question)
        if prompt.text == ANSWER_ALONE:
            return recalled.text or UNKNOWN
        is_challenge = bool(prompt.history) and prompt.text != CERTAINTY_ALONE
        is_warned = is_challenge or "punished" in prompt.text
        is_certain = recalled.support >= (CERTAIN_THOUGH_WARNED if is_warned else CERTAIN)
        stated = "certain" if is_certain else "uncertain"
        if prompt.history or not recalled.text:
            return stated
        return f"{recalled.text}\n{stated.capitalize()}."


def _read(prompt: Prompt) -> tuple[str, bool]:
    """The best quotes, none where no reference speaks of the question, and whether they suffice."""
    quotes = choose_quotes(prompt.question, prompt.references)
    chosen = quotes.sentences
    if chosen and speaks_of_all(prompt.question, chosen[0]):
        chosen = chosen[:1]  # more would only be said beside the point
    text = " ".join(_quote(each, prompt.references[each.number - 1]) for each in chosen)
    return text, is_sufficient(prompt.question, prompt.references, quotes)


def _read_one_sentence(prompt: Prompt) -> tuple[str, bool]:
    """The sentence that answers, or nothing, and whether there is one."""
    found = find_sentence(prompt.question, prompt.references)
    if found is None:
        return "", False
    text = _quote(found.sentence, prompt.references[found.sentence.number - 1])
    if found.led_by is None:
        return text, True
    said, marker = text.rsplit(" ", 1)
    return f"{said} [{found.led_by.number}]{marker}", True


def _quote(sentence: Sentence, reference: Reference) -> str:
    """The sentence with its marker; behind its title where it does not name what it is about.

    The name of a file, which many loaders give in place of a title, says nothing of that.
    """
    title = " ".join(without_brackets(reference.title).split())
    is_named = set(content_words(title)) <= set(content_words(sentence.text))
    is_named = is_named or _FILE_NAME.search(title) is not None
    return f"{'' if is_named else f'{title}: '}{sentence.text} [{sentence.number}]"


def _ask(prompt: Prompt) -> str:
    return "\n".join(f"{QUERY_LEAD} {query}" for query in _queries(prompt)) or UNKNOWN


def _queries(prompt: Prompt) -> list[str]:
    return follow_up_queries(prompt.question, prompt.references, prompt.queries, MAX_QUERIES)


def is_extractive(spec: str) -> bool:
    """Whether a model's name is that of the extractive model.

    Example:
        >>> is_extractive("extractive:memory.jsonl"), is_extractive("openai:gpt-4.1-mini")
        (True, False)
    """
    return spec.partition(":")[0] == NAME


def load_extractive(
    spec: str, *, count: Callable[[str], TokenCount] = count_tokens
) -> ExtractiveModel:
    """Make the extractive model; with a file it stands in for a real one, in one sentence.

    Args:
        spec: The name ``extractive``, or ``extractive:`` and a JSONL file of what the model knows,
            a line with ``text`` and perhaps ``title`` for each passage.
        count: The function that counts the tokens of a text.

    Raises:
        InputError: There is no such file, or nothing in it.
        DataError: A line is broken.

    Example:
        >>> load_extractive("extractive").name
        'extractive'
    """
    _, has_memory, file = spec.partition(":")
    if not has_memory:
        return ExtractiveModel(count=count)
    if not file:
        raise InputError(f"{spec} names no file: give extractive:FILE, or extractive alone")
    rows = [row for _, row in read_jsonl(Path(file)) if str(row.get("text") or "").strip()]
    if not rows:
        raise InputError(f"there is nothing to know in {file}: give a line with text a passage")
    memory = [Reference.of(str(row["text"]), str(row.get("title") or "")) for row in rows]
    return ExtractiveModel(memory, one_sentence=True, count=count)


THRESHOLD = 0.8
_NEGATIONS = {"not", "no", "never", "none", "nobody", "neither", "nor", "without", "cannot"}


class LexicalEntailment:
    """Entailed where the premise holds most of the hypothesis' content words.

    A baseline: it reads no meaning. Where one side negates and the other does not, it says
    contradiction; use an NLI model or a judge for figures that go out.

    Args:
        threshold: Share of the hypothesis' content words that the premise must hold, 0 to 1.

    Example:
        >>> pair = ("Paris is the capital of France.", "Paris is a capital.")
        >>> LexicalEntailment().predict([pair])
        ['entailment']
    """

    name = "lexical"

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self._threshold = threshold

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Compare words."""
        return [self._verdict(*pair) for pair in pairs]

    async def apredict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Entailment | None]:
        """Async version of `predict`, which has nothing to wait for."""
        return self.predict(pairs)

    def _verdict(self, premise: str, hypothesis: str) -> Entailment:
        given, wanted = set(content_words(premise)), set(content_words(hypothesis))
        if not wanted or len(wanted & given) < self._threshold * len(wanted):
            return "neutral"
        return "entailment" if _negates(premise) == _negates(hypothesis) else "contradiction"


def _negates(text: str) -> bool:
    words = straight_quotes(text).lower().split()
    return any(word.strip(".,;:!?") in _NEGATIONS or "n't" in word for word in words)
