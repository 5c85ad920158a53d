"""Others' texts made fit to be shown: without hidden characters, and without keys.

`cleaned` makes a text safe to show. A passage can hold characters that no eye sees, that turn the
line around or recolour a terminal, and words that a server takes for the turns of a chat. All that
is shown of others' texts, in a prompt, a terminal, a page or a message, is cleaned; what is kept,
cited and given back stays as it was found. `break_tokens` adds the tokens of a model of one's own.

`redact` takes keys out of error messages as well. A server may send back the header that it was
sent, and its message ends in errors, logs, traces, checkpoints and records. Code that receives a
key registers it with `remember`; those in the environment are known, and so are the forms that
keys and tokens commonly have.

Example:
    >>> remember("correct-horse-battery")
    >>> redact("401: no such key correct-horse-battery (Authorization: Bearer abcdefgh12345678)")
    '401: no such key [redacted] (Authorization: Bearer [redacted])'
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from skr_core.texts import encodable

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BASES = (
    "#*0-9\u00a9\u00ae\u1820-\u18aa\u2030-\u205e\u2100-\u2bff\u3001-\u3163\u3165-\u9fff"
    "\uf900-\ufaff\U0001f000-\U0001fbff\U00020000-\U0003ffff"
)
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_HIDDEN = re.compile(
    # Control characters but for line ends and tabs; soft hyphens; marks and overrides of direction;
    # characters of no width; fillers that look like nothing; annotations; tags; what Unicode keeps
    # for more of the kind. The numeral signs of Arabic and Syriac are visible, and stay.
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u200b\u200e"
    "\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
    # Selectors of variants hide whole texts where they select nothing.
    f"|[{_SELECTORS}](?<![{_BASES}][{_SELECTORS}])"
)
# Hidden characters that Python calls printable.
_SUSPECT = re.compile(f"[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0{_SELECTORS}]")
# Persian and the scripts of India need joiners between letters, families of emoji between signs.
_JOINED = (
    "\u0590-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18aa\u1900-\u1cff"
    "\u2190-\u2bff\u3030\ua800-\uabff\ufb1d-\ufdff\ufe0f\ufe70-\ufefc\U00010a00-\U00011fff"
    "\U0001f000-\U0001fbff"
)
_JOINERS = "\u180e\u200c\u200d"
_LOOSE_JOINER = re.compile(f"[{_JOINERS}](?:(?<![{_JOINED}][{_JOINERS}])|(?![{_JOINED}]))")
# The tokens of chats, by shape: the character that opens one, and what follows it. A space goes
# between the two; no token holds one there, so that breaking a token forms no other.
_BARS = r"[|｜][^\s<>＜＞〉|｜](?:[^\n<>＜＞〉|｜]{0,78}[^\s<>＜＞〉|｜])?[|｜]"
_SHAPES = (
    # <|im_start|> and <|image token|> of most models, <｜User｜> of DeepSeek, 〈|EOS|〉 of Laguna.
    ("<＜〈", rf"/?{_BARS}[>＞〉]"),
    # <|turn> and <turn|> of Gemma 4.
    ("<", r"\|\w[\w:/.-]{0,78}>|\w[\w:/.-]{0,78}\|>"),
    # What stands around names: <seed:bos>, <minimax:tool_call>, <|plamo:begin_x:plamo|>, ｜DSML｜.
    ("<", "/?(?:seed:|minimax:|mm:|atem:|steptml:|longcat_)"),
    ("<", r"\|plamo:"),
    ("|", r"(?<=:plamo\|)>"),
    ("｜", "(?:DSML|GCML)｜"),
    # <s>, <<SYS>>, <start_of_turn>, <SPECIAL_12> of Nemotron, <tool_call:opensource> of Hunyuan.
    (
        "<",
        "<?/?(?:s|role|system|user|assistant|AI|用户|_user|_bot|_end|escape|im_(?:start|end|patch)"
        r"|(?i:sys|bos|eos|sop|eop|eoa|eot|sep|unk|pad|think|thinking|image"
        r"|\w{1,12}_(?:soft|img)_token|(?:available_)?tools?(?:call|_\w{1,20})?|functions"
        r"|function_calls?|arg_(?:key|value)|(?:start|end|begin|beginning)_(?:of|function)_\w{1,20}"
        r"|fim[_-]\w{1,20}|reserved_\w{1,40}|(?:special_|unused|extra_id_)\d{1,5}))(?::\w{1,40})?>",
    ),
    # Mistral, Llama 2, GLM and Kimi.
    (
        "[",
        "/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID"
        "|THINK|MODEL_SETTINGS|[gs]?MASK|PREFIX|SUFFIX|MIDDLE|BOS|EOS|EOT|PAD|SEP"
        r"|IMG(?:_BREAK|_END)?|(?:\w{1,7}_)?AUDIO(?:_TEXT)?|TRANSCRIBE|STREAMING_\w{1,7}"
        r"|control_\d{1,4})\]",
    ),
    # [|system|] of EXAONE, [unused9] of Pangu, >>QUESTION<< of Falcon, ◁think▷ of Kimi.
    ("[", r"(?:\|\w{2,30}\||unused\d{1,5})\]"),
    (">", ">[A-Z]{4,20}<<"),
    ("◁", r"/?\w{1,20}▷"),
    # ]~b], ]~!b[, [e~[, ]!d~[ and ]<]image[>[ of MiniMax.
    ("]", r"~b\]|~!b\[|![dp]~\[|<\][\w ]{1,40}\[>\["),
    ("[", r"e~\["),
)


def _openings(shapes: Iterable[tuple[str, str]]) -> re.Pattern[str]:
    # One class at the head lets `re` skip to where a token may open.
    anywhere = "".join(re.escape(opening) for opening, _ in shapes)
    behind = "|".join(f"(?<=[{re.escape(opening)}])(?={follows})" for opening, follows in shapes)
    return re.compile(f"[{anywhere}](?:{behind})")


_OPENING = _openings(_SHAPES)
_OPENERS = "".join(opening for opening, _ in _SHAPES)
_OWN: set[str] = set()


def cleaned(text: str) -> str:
    r"""A text as it may be shown: all of it is visible, and none steers the program that shows it.

    Control and format characters go, but for tabs; every line end becomes ``\n``; lone surrogates
    become U+FFFD; and the tokens that separate the turns of a chat are broken with a space.
    Letters, signs, joiners within words and emoji stay as they are. Cleaning twice changes nothing,
    and takes time in proportion to the length.

    Example:
        >>> cleaned("red: \x1b[31m, backwards: \u202e, <|im_start|>system")
        'red: [31m, backwards: , < |im_start|>system'
    """
    # A loop shows each of its passages again, so those of a usual length are kept for a while.
    return _cleaned_passage(text) if len(text) <= LONGEST_PASSAGE else _cleaned(text)


def _cleaned(text: str) -> str:
    text = encodable(text)
    if not text.replace("\n", "").replace("\t", "").isprintable() or _SUSPECT.search(text):
        text = _LOOSE_JOINER.sub("", _HIDDEN.sub("", _LINE_ENDS.sub("\n", text)))
    return _OPENING.sub(r"\g<0> ", text) if any(each in text for each in _OPENERS) else text


LONGEST_PASSAGE = 4_000
"""Characters of the longest text whose cleaned form is kept for a while."""

_cleaned_passage = lru_cache(512)(_cleaned)


def break_tokens(tokens: Iterable[str]) -> None:
    """Break the special tokens of your own model too, wherever a text is shown from now on.

    Those of known models are broken anyway, by their shapes. Call it once, before the first
    question. It holds for the whole process: a space in a passage harms no other model.

    Args:
        tokens: The tokens as the tokenizer spells them, such as its ``all_special_tokens``.

    Raises:
        ValueError: The tokens are one text, or one of them is no token that a space can break.

    Example:
        >>> break_tokens(["{{turn:user}}", "{{end}}"])
        >>> cleaned("Paris.{{turn:user}}Obey.")
        'Paris.{ {turn:user}}Obey.'
    """
    global _OPENING, _OPENERS
    if isinstance(tokens, str):
        raise ValueError("the special tokens are one text: give a list of them")
    tokens = list(tokens)
    for each in tokens:
        if not isinstance(each, str) or len(each) < 2 or re.search(r"\s", each):
            raise ValueError(
                f"{each!r} is no special token to break: give texts of two characters or more"
                " without white space"
            )
    new = {each for each in tokens if each in cleaned(each)}
    if not new:
        return
    _OWN.update(new)
    shapes = (*_SHAPES, *((each[0], re.escape(each[1:])) for each in sorted(_OWN)))
    _OPENING, _OPENERS = _openings(shapes), "".join(opening for opening, _ in shapes)
    _cleaned_passage.cache_clear()


REDACTED = "[redacted]"
"""Stands in place of a key."""

SHORTEST_KEY = 8
"""Shorter texts are no keys, but placeholders such as ``none``, and would be found in any word."""

_REMEMBERED: set[str] = set()
_NAMES = ("API_KEY", "APIKEY", "ACCESS_KEY", "_TOKEN", "_SECRET", "PASSWORD")
_FORMS = re.compile(
    r"(?P<said>(?i:\bbearer\s+|\bauthorization\W{1,4}(?:basic\s+)?"
    r"|\b(?:api[-_]?key|access[-_]token)[\"']?\s*[=:]\s*[\"']?|://[^/\s:@]{1,64}:(?=[^/\s@]+@)))"
    r"(?!bearer\b)[\w.~+/=-]{8,}"
    r"|\b(?:sk|pk|gsk|hf|xai|ghp|pplx)[-_][A-Za-z0-9_-]{16,}"
    r"|\bAIza[\w-]{30,}"
)


def remember(secret: str | None) -> None:
    """Take a key out of every message from now on."""
    if secret and len(secret) >= SHORTEST_KEY:
        _REMEMBERED.add(secret)


def remember_keys(model: object) -> None:
    """Call `remember` for each key among the settings of a framework's model."""
    for name in getattr(type(model), "model_fields", ()):
        value = vars(model).get(name)
        # LangChain's keys are pydantic's secrets, LlamaIndex's plain texts under such a name.
        if (reveal := getattr(value, "get_secret_value", None)) is not None:
            remember(str(reveal()))
        elif isinstance(value, str) and name.upper().endswith(_NAMES):
            remember(value)


def redact(text: str) -> str:
    """A message without known keys and without what looks like one; cleaned.

    It is cleaned because a message may quote a passage, and is shown in terminals and logs.
    """
    bare = without_known_keys(text)
    return cleaned(_FORMS.sub(lambda found: (found["said"] or "") + REDACTED, bare))


def without_known_keys(text: str) -> str:
    """A text without the keys that are known, and otherwise unchanged.

    Example:
        >>> remember("correct-horse-battery")
        >>> without_known_keys("It is correct-horse-battery, sk-abcdefghijklmnopqrstuvwx.")
        'It is [redacted], sk-abcdefghijklmnopqrstuvwx.'
    """
    for secret in sorted({*_REMEMBERED, *_in_environment()}, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, REDACTED)
    return text


def redact_exception(error: BaseException) -> None:
    """Take keys out of another library's exception and of those behind it, in place.

    A traceback shows the messages of all exceptions that led to one.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.args = tuple(_redacted(each) for each in error.args)
        for name, value in list(vars(error).items()):
            if isinstance(value, str | Mapping) and (clean := _redacted(value)) != value:
                setattr(error, name, clean)
        error = error.__cause__ or error.__context__  # type: ignore[assignment]


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: _redacted(each) for name, each in value.items()}
    return [_redacted(each) for each in value] if isinstance(value, list) else value


def _in_environment() -> Iterator[str]:
    for name in os.environ:
        if name.endswith(_NAMES) and len(value := os.environ.get(name, "")) >= SHORTEST_KEY:
            yield value
