"""Guesses: whether a reply whose writer doubts what it knows names an answer all the same.

"I can't say for sure, but it may have been 1844" is an answer, if one that hedges. It is read by
its clauses: one that guesses names an answer, and so does a plain one that stands against a doubt
("1844, but I can't confirm it"). What the writer will not say stands against any guess before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from skr_core.replies.knowledge import DECLINES, SOURCE, WILL_NOT
from skr_core.replies.wording import WRITER_CANNOT, any_of, compiled

_GUESS = (
    r"(?:guess|estimate|hunch|bet|answer|recollection|impression|understanding|candidate"
    r"|possibility|option|feeling|hint|indication|memory|idea|notion|instinct|inkling)"
)
_GUESSES = any_of(
    r"\b(?:perhaps|maybe|possibly|potentially|probably|presumably|conceivabl[ey]|supposedly|roughly"
    r"|likel(?:y|iest)|either [^,;]{1,40} or)\b",
    r"\b(?:might|may|could)(?: \w+ly| well| just)* (?!be (?:wrong|off|mistaken|inaccurate|incorrect"
    r"|able|found|available|listed|recorded|documented|possible|helpful|best|better|worth|out"
    r"|completely|totally|different)|not\b|find|check|help|know|consult|want|need|try|provide"
    r"|include|mislead|look|offer|have (?:more|the|this|that|information)|contain|vary|give|tell"
    r"|answer|say for|confirm|speculate|change)[a-z]+",
    r"\b(?-i:I)(?:'m| am)?(?: (?!not\b)\w+){0,2}? (?:think|believe|suspect|guess|suppose|reckon"
    r"|imagine|assume|recall|remember|gather|guessing|leaning|lean|inclined|thinking)\b"
    r"(?! (?:you|(?-i:I)\b|so\b|at\b|(?:it|this|that)(?:'s| is| would be| falls| may be)"
    r" (?:best|better|outside|beyond|wise|important|a question)))",
    r"\b(?-i:I)(?:'d| would|'ll| will| can only| could only| might| have to| want to)(?: \w+ly"
    r"| just| still| have to| take a)* (?:say|guess|go with|go for|bet|wager|venture|hazard"
    r"|throw out|put|suggest|offer|lean|estimate|pick|choose|answer|opt|vote|propose|name|think"
    r"|settle on|(?:\w+ )?(?:guess|stab|shot))\b(?! (?:\w+ )?(?:consult|check|look|refer|verify"
    r"|contact|ask|review|visit|search|see|find|you|that you)\w*)",
    r"\b(?-i:I)(?:'m| am)? (?:pretty|fairly|quite|rather|somewhat|reasonably|almost|mostly|\d+ ?%)"
    r" (?:sure|certain|confident|positive)\b",
    r"\b(?-i:I)(?: have|'ve) (?:seen|heard|read|come across)\b|\bguessing when\b",
    r"(?<!\bany )\b(?:name|number|date|year|figure|value|answer|one|title)(?: that)?"
    r" (?-i:I)(?:'d| would)? (?:\w+ )?(?:found|saw|have|had|keep|kept|recall|give|pick)\b",
    r"\banswer (?:should|must|would) be\b",
    r"\b(?:let's|let me|let us) (?:just )?(?:say|go with|guess|try)\b",
    r"\b(?:point(?:s|ing|ed)?|hint(?:s|ing|ed)?) (?:to|toward|towards|at)\b",
    r"\b(?:sources?|information|data|evidence|memory|recollection|instinct)\b[^.;]{0,30}?"
    r" (?:suggest|indicate|hint|say|list|point)s?\b",
    rf"\b(?:my|a|one|the)(?: \w+){{0,3}} {_GUESS}(?: here)?(?:,? (?:is|was|would|might|may|could"
    rf"|that|it|of)\b|:)|\bmy (?:\w+ ){{0,2}}{_GUESS}\b",
    r"\bas (?:an? (?:\w+ ){0,3}guess|good a guess)\b|\ba guess of\b|\bcomes? to mind\b"
    r"|\brings? an? (?:\w+ ){0,2}bell\b|\bsomething tells me\b|\bjudging (?:by|from)\b",
    r"\b(?:an?|one|the|is|remote|strong|slim|good|some) (?:\w+ )?(?:possibility|chance|contender"
    r"|candidate|association|connection|possible \w+)\b",
    r"\ba (?:faint|vague|slight|dim|hazy|fuzzy)\b",
    r"(?:\b(?:seems?|appears?|sounds?|feels?|looks?|is|are)|'s)(?: \w+ly)? (?:to be|to have been"
    r"|like|about right|right|familiar|plausible|possible|sticking)\b(?! to me\b)",
    r"^(?:was|is|were|are|could|might|may)\b(?! (?:you|(?-i:I)|there|we)\b).{2,}\?\W{0,3}$",
    r"^(?!(?:would|do|does|did|can|could|shall|may|how|what|which|who|where|when|why|is there)\b)"
    r"(?:\w+ ){0,3}\w+ ?\?\W{0,3}$",
    # German, French, Spanish, Chinese, Japanese.
    r"\b(?:vielleicht|möglicherweise|vermutlich|wahrscheinlich|wohl|eventuell|womöglich"
    r"|schätzungsweise|ohne gewähr|ich (?:glaube|denke|vermute|meine|schätze|tippe)|würde ich"
    r"|ich würde (?:\w+ ){0,3}?(?:sagen|tippen|raten|schätzen|vermuten)|meine? (?:Tipp|Vermutung"
    r"|Schätzung)|(?:könnte|dürfte)n?\b[^.;]{0,60}? (?:sein|haben|handeln))\b",
    r"\b(?:peut-être|probablement|sans doute|vraisemblablement|possiblement|il se peut|il me semble"
    r"|je (?:crois|pense|dirais|suppose|parierais|pencherais)|(?:pourrait|devrait) (?:être|avoir"
    r"|s'agir))\b",
    r"\b(?:quizás?|tal vez|probablemente|posiblemente|a lo mejor|(?:creo|pienso|supongo|parece) que"
    r"|diría|apostaría|(?:podría|pudo) (?:ser|haber|tratarse))\b",
    r"可能(?!性|不)|也许|也許|或许|或許|大概|大约|我(?:觉得|覺得|猜|认为|認為|估计|估計|会说|會說)|应该(?:是|在)|應該(?:是|在)"
    r"|(?:好像|似乎)是",
    r"おそらく|恐らく|たぶん|多分|かもしれ|と(?:思|記憶)|でしょう|だろう|推測では|ではないか",
)
_DENIES = any_of(
    r"\b(?:not|no|never|cannot|neither|nor|unable|lack|unsure|none|nothing|refrain|decline)\b",
    r"n't\b",
    r"\b(?:nicht|kein\w*|nichts|pas|aucun\w*|ningun\w*|desconozco|ignoro)\b",
    r"不(?!过|過)|[没沒無无]|(?<!かもしれ)ません|ない(?!か)|控え",
)
_OF_THE_ASKING = any_of(
    r"\b(?:you(?!(?:'re| are) (?:looking|asking|thinking|after))|your|(?<!in )question|topic|query"
    r"|request|sorry|unfortunately|regrettably|apologi[sz]e|afraid|misspel\w*|fiction\w*)\b",
    r"\b(?:that|this|such|the|any|more|these|those)(?: \w+)? (?:information|details?|data"
    r"|specifics)\b(?! (?:(?-i:I) have )?(?:suggest|indicat|hint|point))",
    rf"\b(?:in|on|at|from|through|by|via|with) (?:\w+ ){{0,4}}?(?-i:{SOURCE})\b",
    rf"\b(?-i:{SOURCE}) (?:may|might|would|should|could|will|can|probably|likely)\b",
    r"\b(?:should|would|might|may|could|will)(?: \w+)? (?:know|help|tell|be able|have (?:it|this"
    r"|that|more|the))\b",
)
"""What is said of the question, of the material or to the reader, and not of the matter."""

_SURELY = (
    r"(?: (?:it|this|that|so|one|anything|them|either|here|right|now|though|yet))?"
    r"(?: (?:for|with|of|about|at|by|in|on)(?: (?:an?|any|all|absolute|complete|full|total|real"
    r"|much|it|this|that|certain|sure|fact|certainty|confidence|means))+)*"
    r"(?: exactly| precisely| definitively| fully| offhand)?"
    r"(?: (?:if |whether |that )?(?:it|this|that)(?:'s| is) (?:right|correct|true))?\W*$"
)
_DOUBTS = any_of(
    r"\bwould(?:n't| not)(?: \w+)? (?:bet|stake|swear|commit|count|rely|put)\b",
    rf"(?:\bnot|n't|\bnever|\bcannot)(?: be)?(?: \w+){{0,2}}? (?:sure|certain|positive|confident"
    r"|know|recall|remember|confirm|verify|say|tell|swear(?: to)?|vouch|guarantee|promise|prove"
    rf"|check|percent|convinced){_SURELY}",
    rf"\b(?:unsure|uncertain|unable to (?:confirm|verify)){_SURELY}",
    r"\b(?:have|with|lack|'ve)(?: \w+){0,3}? (?:idea|clue|confidence|confirmation|certainty|doubts"
    rf"|source(?: for it)?|way of \w+|memory|recollection|proof){_SURELY}",
    r"\b(?:hard|difficult|tough) to (?:say|tell|be sure|be certain|know)\W*$",
)
"""The writer doubts what it says, and not what is asked: nothing is named that it does not know."""

_CLAUSES = re.compile(
    r"(?P<against>[,;]? ?\b(?:but|though|although|however|yet|while)\b,?)"
    r"|(?P<aside>[,;]? ?\b(?:even (?:if|though)|whether|if (?=it|that|the)|which|who(?:se)?)\b"
    r"|\bas (?=(?-i:I)\b))|(?P<beside>[;:—–]\s|—| - )|,\s|[.!] |[，、；：。]",
    re.IGNORECASE,
)
_OF_ITSELF = r"\b(?:(?-i:I)|my|me|we|our)\b|^(?:that|this)(?:'s| is| was)\b"
_NAMES = any_of(
    r"\b(?:is|was|were|are|has|had|will|did|won|took)\b",
    r"\d",
    r"\b(?-i:[A-Z]\w+ [A-Z]\w+)",
    r"\w's ",
)


def offers(said: Iterable[str]) -> bool:
    """Whether sentences in which the writer doubts what it knows name an answer all the same.

    Args:
        said: The sentences, with straight quotes and single spaces.

    Example:
        >>> offers(["I can't say for sure, but it may have been 1844."])
        True
        >>> offers(["I don't know whether it was 1844, so I'd rather not guess."])
        False
    """
    found = False
    for sentence in said:
        doubted = declined = claimed = False
        for clause, link in _clauses(sentence):
            if _has(WILL_NOT, clause):
                found = doubted = declined = claimed = False
                continue
            doubts = _has(_DOUBTS, clause)
            declines = doubts or _has(DECLINES, clause) or _has(WRITER_CANNOT, clause)
            claims = not declines and link != "aside" and _claims(clause, begins=not link)
            found = (
                found
                or (link != "aside" and _guesses(clause))
                or (claims and declined and link == "against")
                or (claims and doubted and link == "beside")
                or (claimed and doubts and link in ("against", "beside"))
            )
            doubted, declined, claimed = doubted or doubts, declined or declines, claimed or claims
    return found


def _clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """The clauses of a sentence, each with what joins it to those before it."""
    place, link = 0, ""
    for joint in _CLAUSES.finditer(sentence):
        if joint.start() > place:
            yield sentence[place : joint.start()].strip(), link
            link = ""
        place, link = joint.end(), joint.lastgroup or link
    yield sentence[place:].strip(), link


def _guesses(clause: str) -> bool:
    """Whether a clause guesses at the matter."""
    return _has(_GUESSES, clause) and not (_has(_DENIES, clause) or _has(_OF_THE_ASKING, clause))


def _claims(clause: str, *, begins: bool) -> bool:
    """Whether a clause says something of the matter, and nothing of its writer.

    Args:
        clause: The clause.
        begins: Whether it may begin a sentence, so that its first capital tells nothing.
    """
    if any(_has(each, clause) for each in (_OF_ITSELF, _DENIES, _OF_THE_ASKING)):
        return False
    return _has(_NAMES, clause) or (clause[:1].isupper() and not begins)


def _has(pattern: str, text: str) -> bool:
    return compiled(pattern).search(text) is not None
