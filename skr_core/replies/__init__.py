"""Every reading of what a language model wrote, each kind in one module.

Collection, routing, the loop and evaluation share these readings. Model output is untrusted:
anything may come, nothing raises, and a reading takes time in proportion to the reply's length.

| module | what it reads |
|---|---|
| `reply` | all that a reply to a prompt with references says, by the modules below |
| `stream` | the same as it comes: the answer from its first word on |
| `certainty` | the answer together with how certain the model is of it (W2R) |
| `choice` | the option that an answer chooses (SKR, Table 4) |
| `conclusion` | what follows "the answer is" |
| `lists` | the items of a bulleted or numbered list |
| `need` | whether the model asks for help (SKR, Table 2) |
| `condensed` | a question rewritten without its conversation |
| `queries` | what to search next (RaLLM §5.2) |
| `refusal` | whether the model refuses, or says that it does not know (RaLLM §5.1) |
| `wording` | how models refuse |
| `languages` | how they do in German, French, Spanish, Chinese and Japanese |
| `thoughts` | what a model thought before it replied |
| `tokens` | the line that says SUFFICIENT or INSUFFICIENT |
| `enclosed` | a reply within JSON or a fence |
| `answer_text` | the answer without what stands around it |
| `verdict` | the verdict of a judge: sufficient, right, entailed |
"""

from skr_core.replies.reply import Reply, read_reply
from skr_core.replies.stream import VerdictStream

__all__ = ["Reply", "VerdictStream", "read_reply"]
