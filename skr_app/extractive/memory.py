"""What the extractive model knows by itself: statements that it recalls, right or out of date."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from skr_app.extractive.evidence import covered, read_sentences, term_weights
from skr_app.extractive.quoting import choose_best
from skr_app.extractive.text import content_words, names, stem
from skr_core.types import Reference

# A statement that speaks of less than this of the question answers another one.
LEAST_SUPPORT = 0.4


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a memory says to a question.

    Attributes:
        text: The statement; empty where it says nothing.
        support: How much of the question the statement speaks of, 0 to 1.
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
        told = "\x00".join(each.id for each in statements).encode()
        self.version = hashlib.blake2b(told, digest_size=4).hexdigest() if told else ""

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
