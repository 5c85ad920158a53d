"""cleaned: a text of somebody else's without what hides in it, or speaks past the reader.

A passage can hold characters that no eye sees, that turn the line around or recolour a terminal,
and words that a server takes for the turns of a chat. All that is shown of others' texts, in a
prompt, a terminal, a page or a message, goes through here; what is kept, cited and given back
stays as it was found.
"""

from __future__ import annotations

from functools import lru_cache

from skr_core.patterns import lazy_pattern
from skr_core.texts import encodable

_LINE_ENDS = lazy_pattern("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BASES = (
    "#*0-9\u00a9\u00ae\u1820-\u18aa\u2030-\u205e\u2100-\u2bff\u3001-\u3163\u3165-\u9fff"
    "\uf900-\ufaff\U0001f000-\U0001fbff\U00020000-\U0003ffff"
)
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_HIDDEN = lazy_pattern(
    # Control characters but for line ends and tabs; soft hyphens; marks and overrides of direction;
    # characters of no width; fillers that look like nothing; annotations; tags; what Unicode keeps
    # for more of the kind. The numeral signs of Arabic and Syriac are seen, and stay.
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u200b\u200e"
    "\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
    # Selectors of variants hide whole texts where they select nothing.
    f"|[{_SELECTORS}](?<![{_BASES}][{_SELECTORS}])"
)
# Of what is hidden, that which Python calls printable.
_SUSPECT = lazy_pattern(f"[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0{_SELECTORS}]")
# Persian and the scripts of India need joiners between letters, families of emoji between signs.
_JOINED = (
    "\u0590-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18aa\u1900-\u1cff"
    "\u2190-\u2bff\u3030\ua800-\uabff\ufb1d-\ufdff\ufe0f\ufe70-\ufefc\U00010a00-\U00011fff"
    "\U0001f000-\U0001fbff"
)
_JOINERS = "\u180e\u200c\u200d"
_LOOSE_JOINER = lazy_pattern(f"[{_JOINERS}](?:(?<![{_JOINED}][{_JOINERS}])|(?![{_JOINED}]))")
_OPENING = lazy_pattern(
    # <|im_start|>, <|user|>, and those of DeepSeek with wide bars.
    r"[<＜](?=[|｜][^\s<>＜＞|｜]{1,80}[|｜][>＞]"
    r"|<?/?(?i:s|sys|bos|eos|sop|eop|unk|pad|think|thinking|tool_calls?|tool_response|tools"
    r"|(?:start|end)_of_(?:turn|image)|image|fim_\w{1,20}|unused\d{1,5}|extra_id_\d{1,5}"
    r"|reserved_\w{1,40})>)"
    # Of Mistral, Llama 2 and GLM.
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS"
    r"|CALL_ID|THINK|MODEL_SETTINGS|[gs]?MASK|PREFIX|SUFFIX|MIDDLE)\])"
    r"|◁(?=/?\w{1,20}▷)"
)


LONGEST_KEPT = 4_000
"""Characters of a text that is kept, cleaned, until so many others were."""


def cleaned(text: str) -> str:
    r"""A text as it may be shown: all of it can be seen, and none of it steers who shows it.

    Control and format characters go, but for tabs; every line end becomes ``\n``; what UTF-8 cannot
    hold becomes U+FFFD; and the tokens by which servers tell the turns of a chat apart are broken
    with a space. Letters, signs, joiners within words and emoji stay as they are. Cleaning twice
    changes nothing, and takes time in proportion to the length.

    Example:
        >>> cleaned("red: \x1b[31m, backwards: \u202e, <|im_start|>system")
        'red: [31m, backwards: , < |im_start|>system'
    """
    # A prompt shows each passage of its loop again, and looks at it more than once.
    return _cleaned_once(text) if len(text) <= LONGEST_KEPT else _cleaned(text)


def _cleaned(text: str) -> str:
    text = encodable(text)
    if not text.replace("\n", "").replace("\t", "").isprintable() or _SUSPECT.search(text):
        text = _LOOSE_JOINER.sub("", _HIDDEN.sub("", _LINE_ENDS.sub("\n", text)))
    return _OPENING.sub(r"\g<0> ", text) if any(each in text for each in "<＜[◁") else text


_cleaned_once = lru_cache(512)(_cleaned)
