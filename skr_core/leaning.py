"""Whether a question leans on what was said before it; decided without a model.

A question stands on its own where it has what is asked about in it, a name or enough words that say
something, and nothing that points back. In doubt it leans: to have a model rewrite it costs one
short call, to search for "And its river?" costs the answer. Questions in English, German, French,
Spanish, Chinese and Japanese are read; those of other languages lean more often.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skr_core.texts import straight_quotes, words

LONGEST_READ = 2_000
"""Characters; a longer question names what it speaks of."""

FEWEST_WORDS = 3
"""Words of a question that can stand on its own."""

FEWEST_SAYING = 5
"""Words beside those of grammar with which a question without a name stands on its own."""

FEWEST_CHARACTERS, ENOUGH_CHARACTERS = 6, 16
"""Characters of the same two in Chinese and Japanese, which leave out a subject that is known."""


_QUOTED = re.compile(r'"[^"]{2,}"|«[^»]{2,}»|„[^"]{2,}|`[^`]+`')
_TOKEN = re.compile(r"[^\s,;()\"«»„]+")
# GPT-4, numpy.array, max_tokens: no word of prose.
_CODE = re.compile(r"[^\W\d_]+[-_.]?\d|\w[._]\w|_\w")
_ENDS = ".!?:"


def leans_on_history(question: str) -> bool:
    """Whether a question may need the conversation before it to be understood.

    Args:
        question: The question, as the user asked it.

    Example:
        >>> leans_on_history("And when was she born?"), leans_on_history("Und in Wien?")
        (True, True)
        >>> leans_on_history("When was Marie Curie born?")
        False
    """
    text = " ".join(straight_quotes(question).split())
    if len(text) > LONGEST_READ:
        return False
    if re.search(_UNSPACED, text):
        return _leans_unspaced(text)
    said = words(text)
    if len(said) < FEWEST_WORDS:
        return True
    return any(_leans(text, said, language) for language in _languages_of(said))


def _languages_of(said: Sequence[str]) -> Sequence[_Language]:
    """The languages whose grammar has the most of the words; all where none has any."""
    known = [sum(word in language.grammar for word in said) for language in _LANGUAGES]
    most = max(known)
    return [each for each, count in zip(_LANGUAGES, known, strict=True) if count == most]


def _leans(text: str, said: Sequence[str], language: _Language) -> bool:
    if re.search(language.points, text, re.IGNORECASE):
        return True
    if re.match(language.begins, text, re.IGNORECASE):
        return True
    if said[0] in language.linking and language.asking.isdisjoint(said):
        return True  # "In the United States?" has lost what was asked
    if _has_name(text):
        return False
    return sum(word not in language.grammar for word in said) < FEWEST_SAYING


def _leans_unspaced(text: str) -> bool:
    if re.search(_UNSPACED_POINTS, text) or re.match(_UNSPACED_BEGINS, text):
        return True
    if re.search(_UNSPACED_ENDS, text):
        return True
    if len(text) < FEWEST_CHARACTERS:
        return True
    return len(text) < ENOUGH_CHARACTERS and not re.search(_UNSPACED_NAMES, text)


def _has_name(text: str) -> bool:
    """Whether something in a text is quoted, is code, or begins with a capital as names do."""
    if _QUOTED.search(text):
        return True
    before = "."
    for token in _TOKEN.findall(text):
        bare = token.strip("'-?!.:¿¡")
        begins = before[-1] in _ENDS  # a sentence, which gives any word a capital
        if _CODE.search(bare):
            return True
        is_name = bare[:1].isupper() and bare.lower() not in _NO_NAMES
        # German gives every noun a capital; behind an article it is hardly a name.
        if is_name and not begins and before.lower() not in _GERMAN_DETERMINERS:
            return True
        before = token
    return False


@dataclass(frozen=True, slots=True)
class _Language:
    """How questions point back in a language that puts spaces between words.

    Patterns are texts here, which `re` compiles when a conversation first needs them.

    Attributes:
        grammar: The words of its grammar, in small letters; by them it is recognised.
        asking: The words that ask, or begin a question for yes or no.
        linking: The words with which a question begins that does not say what is asked.
        points: The pattern of words that point back.
        begins: The pattern of a beginning that goes on from what was said.
    """

    grammar: frozenset[str]
    asking: frozenset[str]
    linking: frozenset[str]
    points: str
    begins: str


def _language(asking: str, linking: str, further: str, points: str, begins: str) -> _Language:
    """Make a language of words separated by spaces; ``_`` stands for a space within a pattern."""
    asks, links = frozenset(asking.split()), frozenset(linking.split())
    alternatives = "|".join(points.split()).replace("_", " ")
    openings = "|".join(begins.split()).replace("_", " ")
    return _Language(
        grammar=asks | links | frozenset(further.split()),
        asking=asks,
        linking=links,
        points=rf"(?<![\w-])(?:{alternatives})(?![\w-])",
        begins=rf"[^\w]*(?:{openings})(?!\w)",
    )


_ENGLISH = _language(
    asking="""what which who whom whose when where why how is are was were do does did can could
        will would should has have had""",
    linking="""the a an of in on at by for from with to since until during between under over
        about after before among without only""",
    further="""and or but be been many much long far old often i you he she it we they me my your
        his her its our their this that these those there not no if as than so into not""",
    points=r"""it its it's itself they them their theirs they're he him his he's she her hers she's
        this that that's these those one(?!_of) ones same such former latter others? another else
        both either neither above previous(?:ly)? earlier mentioned again too instead likewise then
        you_(?:said|say|mean|meant|told|wrote) your_(?:last|previous|first|earlier|answer)
        my_(?:last|previous|first|earlier) (?<!is_)(?<!are_)(?<!was_)(?<!were_)(?<!be_)there""",
    begins=r"""and but so or also plus what_about how_about why(?:_not)?\W*$ in_that_case
        (?:tell_me_)?more go_on continue elaborate explain\W*$ for_(?:example|instance) really
        are_you_sure ok(?:ay)? thanks? thank_you yes no right sure any(?:thing|_more|_other)?""",
)
_GERMAN = _language(
    asking="""was wer wen wem wessen wann wo woher wohin warum wieso weshalb wie welche welcher
        welches welchen welchem ist sind war waren wird werden wurde wurden hat haben hatte kann
        können soll muss""",
    linking="""der die das den dem des ein eine einen einem einer eines in im an am auf aus bei
        beim mit nach von vom vor zu zum zur für über unter um durch ohne gegen zwischen seit bis
        nur""",
    further="""und oder aber viel viele nicht kein keine es gibt ich du er sie wir ihr als dass
        sich auch noch""",
    points=r"""er sie ihm ihn ihr ihre[mnrs]? sein seine[mnrs]? dies(?:e[mnrs]?)? jene[mnrs]? dort
        dorthin daher damals dann deren dessen denen hiervon hierzu
        da(?:von|ran|rin|für|gegen|mit|nach|vor|zu|bei|rauf|raus|durch|zwischen)?
        letztere[mnrs]? erstere[mnrs]? (?:der|die|das|dem|den)selben? solche[mnrs]? andere[mnrs]?
        sonst auch ebenfalls stattdessen vorher oben beide[mnrs]? (?<!gibt_)(?<!gab_)es
        das(?=_?[?.!,]|$) du_(?:meinst|sagst|gesagt)""",
    begins=r"""und aber oder also auch dann was_ist_mit wie_(?:steht|sieht)_es wie_wäre
        (?:warum|wieso|weshalb)(?:_nicht)?\W*$ mehr weiter erkläre\W*$ zum_beispiel wirklich ok
        danke ja nein genau bist_du_sicher noch""",
)
_FRENCH = _language(
    asking="""que qu qui quoi quel quelle quels quelles quand où comment pourquoi combien est sont
        était étaient sera a ont avait fut""",
    linking="""le la les l un une des du de d dans en à au aux sur sous par pour avec sans entre
        depuis pendant avant après chez seulement""",
    further="""et ou mais il elle on ne pas n se s ce cette y t je tu nous vous""",
    points=r"""il(?!_y_a) elle ils elles lui leurs? eux ça cela ceci cet cette ces celui celle ceux
        celles son sa ses là là-bas alors ensuite aussi autres? mêmes? tels? telles? précédente?
        derniers? dernières? (?<!est-)(?<!est_)ce(?!_qu) c'est qu'en
        (?<!y_)\w+-(?:t-)?(?:ils?|elles?)""",
    begins=r"""et mais ou donc alors aussi qu'en_est-il pourquoi(?:_pas)?\W*$ plus continue[zr]?
        explique[zr]?\W*$ par_exemple vraiment ok d'accord merci oui non encore""",
)
_SPANISH = _language(
    asking="""qué quién quiénes cuál cuáles cuándo dónde cómo cuánto cuánta cuántos cuántas que
        quien quienes cual cuales cuando donde como cuanto cuanta cuantos cuantas es son era eran
        fue fueron está están ha han había hay""",
    linking="""el la los las un una unos unas de del al a en por para con sin sobre entre desde
        hasta durante tras según sólo solo""",
    further="""y o pero ser se no su lo le les nos me te muy más""",
    points=r"""él ella ello ellos ellas lo les? sus? suy[oa]s? este esta estos estas esto ese esa
        esos esas eso aquel aquell[oa]s? allí ahí allá entonces también otr[oa]s? mism[oa]s?
        anterior(?:es)? ambos ambas dich[oa]s? tampoco""",
    begins=r"""y e pero o entonces también qué_hay_de qué_tal por_qué(?:_no)?\W*$ más continúa
        sigue explica\W*$ por_ejemplo de_verdad ok vale gracias sí no""",
)
_LANGUAGES = (_ENGLISH, _GERMAN, _FRENCH, _SPANISH)

# Behind these a capital is that of any noun.
_GERMAN_DETERMINERS = frozenset(
    """der die das den dem des ein eine einen einem einer eines kein keine welche welcher welches
    welchen welchem viel viele wenige mehr alle jede jeder jedes diese dieser dieses diesen im am
    zum zur vom beim ins ans""".split()
)
# English writes these with a capital, and they name nothing that could be asked about.
_NO_NAMES = frozenset(
    """i i'm i'd i've i'll ok monday tuesday wednesday thursday friday saturday sunday january
    february march april may june july august september october november december""".split()
)

# Chinese and Japanese.
_UNSPACED = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
_UNSPACED_POINTS = (
    r"[它牠祂]|[他她](?!国|國|山|乡|鄉)|[这這](?:个|個|些|里|裡|边|邊|样|樣|种|種|部|位|本|座|家|款|项|項|次|是|两|兩|几|幾)?"
    r"|那(?:个|個|些|里|裡|边|邊|样|樣|种|種|部|位|本|座|家|款|时|時|是|儿|兒)|(?<![应應本活])该|該"
    r"|(?<!耳)其(?!他|它|余|餘|实|實|顿|頓)|前者|后者|後者|上述|上面|刚才|剛才|之前(?:说|說|提)"
    r"|同样|同樣|另外|另一|还有|還有|此(?:外|人|时|時|事|书|書|处|處)"
    r"|[呢][？?]?$|也"
    r"|[それあ](?:れ|の(?![\u3040-\u309f])|こ(?!と)|ちら|んな)|[こそ]の|ここ|そこ|そちら|こちら|あそこ|こう|そう(?:です|なら)"
    r"|彼|同じ|さっき|先ほど|両方|もう一"
)
_UNSPACED_BEGINS = (
    r"\W*(?:那[么麼]?|还有|還有|然后|然後|但是?|可是|不过|不過|而且?|另外|为什[么麼][？?]?$|為什麼[？?]?$"
    r"|继续|繼續|再|所以|因此|谢谢|謝謝|好的|是的|更多|比如|例如|真的|在[^。？?]{1,8}[？?]$"
    r"|では|じゃあ?|それ|でも|しかし|また|あと|他に|ほかに|なぜ(?:です)?か?[？?]?$|どうして(?:です)?か?[？?]?$"
    r"|続け|もっと|ちなみに|そして|次は|はい|いいえ|例えば|本当)"
)
# A question that ends with its topic has left out what is asked.
_UNSPACED_ENDS = r"(?:は|って|も)[？?]?$"
# Letters of other scripts, foreign words, quotation marks, and names of places and firms.
_UNSPACED_NAMES = (
    r"[A-Za-z]{2,}|[\u30a1-\u30faー]{2,}|[「『《“\"]|[·・]"
    r"|(?<![这這那该該哪本各外全多几幾个個])[\u4e00-\u9fff]"
    r"(?:国|國|市|省|县|縣|州|大学|大學|公司|県|都(?!是|有|在))(?!家|际|際|内|內|土|外|名)"
)
