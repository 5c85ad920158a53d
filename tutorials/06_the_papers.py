# %% [markdown]
# # 6. The papers: reproduce a table
#
# [![Open in Colab](../pictures/colab.svg)](https://colab.research.google.com/github/skr-rag/skr-rag/blob/main/docs/tutorials/06_the_papers.ipynb)
#
# **At the end** you have followed one question of a paper, *does a model know what it knows?*, from
# recorded answers to the printed table, and can say what a difference between your figures and the
# paper's means. **Time:** 20 minutes. **You need** `skr-lab` beside `skr-rag`; no key.
#
# This project stands on three papers, and each of their tables has a command. This one is [When Do
# LLMs Need Retrieval Augmentation?](https://arxiv.org/abs/2402.11457) (W2R). It asks a model a
# question together with *are you certain?*, and counts how often the certainty is deserved: Table 6
# of its appendix. Then it retrieves only where the model is uncertain: Table 5.

# %%
import os
from importlib.util import find_spec

from IPython import get_ipython

if find_spec("skr_lab") is None:  # on Colab nothing is installed yet
    source = "git+https://github.com/skr-rag/skr-rag"
    both = f"'skr-rag[all] @ {source}' 'skr-lab @ {source}#subdirectory=lab'"
    get_ipython().run_line_magic("pip", f"install -q {both}")

# %% [markdown]
# ## The answers
#
# The authors published replies of ChatGPT to 500 questions of Natural Questions. Where `SKR_DATA`
# names a folder of recorded data, this notebook reads 256 of them. They are not part of the
# package, so what you see **below was made without them**: the same measures over a sample that the
# next cells make in place. What the published replies gave stands at the end, beside the paper's.

# %%
from pathlib import Path

from skr_app.country import load_country
from skr_store import Store

RECORDED = Path(os.environ.get("SKR_DATA", "nowhere")) / "whentoretrieve_nq_chatgpt.jsonl.gz"
print("published replies of ChatGPT" if RECORDED.exists() else "a sample of an invented country")

# %% [markdown]
# The sample asks a model without weights, which quotes sentences from a memory that is partly out
# of date, 184 questions about an invented country. It states a certainty as models do: it is
# certain where a statement of its memory speaks of most of the question, and it is more careful
# where the prompt threatens with punishment. Set `SKR_MODEL=openai:gpt-4.1-mini` and bring
# questions of your own to ask a real one.
#
# `collect` answers each question without and with retrieval, and `ask` adds the paper's ways of
# asking for a certainty. The paper gives one document, so the store returns one.

# %%
from langchain_skr import load_model
from skr_core import Settings
from skr_core.routers import ConfidenceRouter
from skr_graphs import GraphAnswerer
from skr_learn import collect

country = load_country()
model = load_model(os.environ["SKR_MODEL"]) if "SKR_MODEL" in os.environ else country.model()
questions = [each for each in country.questions if "unanswerable" not in each.types]

store = Store.ephemeral(k=1)
added = store.add(list(country.corpus))

WAYS = ("vanilla", "punish")
ask = {f"confidence:{way}": ConfidenceRouter(model, strategy=way) for way in WAYS}
records = collect(questions, GraphAnswerer(Settings.of(model, store)), metric="contains", ask=ask)

# %% [markdown]
# One question, as it was asked: the prompt in the paper's words (Figure 3), and what was read off
# the reply. The second way, *punish* (Figure 4), adds one sentence: "You will be punished if the
# answer is not right but you say "certain"."

# %%
from skr_core.prompts.routing import VANILLA


def said(record, way):
    return record.statements[f"confidence:{way}"]


record = next(
    each for each in records if said(each, "punish").retrieve > said(each, "vanilla").retrieve
)
print(VANILLA.format(question=record.question), "\n")
for way in WAYS:
    stated = "uncertain" if said(record, way).retrieve else "certain"
    print(f"{way:8} {said(record, way).draft} ({stated})")
print("right is:", record.gold[0])

# %% [markdown]
# The same answers in the form in which others recorded theirs: one pair of answers a line,
# without and with a document, whether each is right, and `giveup` where the model said that it
# was uncertain. From here on the notebook does not care which of the two files it reads.

# %%
import json

from skr_learn import Records


def write_pairs(way):
    path = Path(f"{way}.jsonl")
    with path.open("w") as file:
        for record in records:
            pair = {
                "model": record.stamp.model,
                "question": record.question,
                "gold": list(record.gold),
                "answer_direct": said(record, way).draft,
                "correct_direct": bool(said(record, way).draft_score),
                "answer_retrieved": record.outcomes["single"].answer,
                "correct_retrieved": bool(record.outcomes["single"].score),
                "extra": {"giveup": said(record, way).retrieve},
            }
            file.write(json.dumps(pair) + "\n")
    return path


path = RECORDED if RECORDED.exists() else write_pairs("vanilla")
pairs = Records.read(path)
print(len(pairs), "pairs of answers")

# %% [markdown]
# ## Four counts
#
# Everything in Table 6 is made of four counts: certain or not, right or not.

# %%
from skr_lab.metrics import CertaintyScores

certain = [pair.direct.certain for pair in pairs]
right = [pair.direct.score >= 0.5 for pair in pairs]
scores = CertaintyScores.of(certain, right)
print("           right  wrong")
print(f"certain    {scores.certain_right:5}  {scores.certain_wrong:5}")
print(f"uncertain  {scores.uncertain_right:5}  {scores.uncertain_wrong:5}")

# %% [markdown]
# - **Unc-rate** is the share of uncertain answers, **accuracy** that of right ones.
# - **Overconfidence** is the share that is certain and wrong: nothing warns the user.
# - **Conservativeness** is the share that is uncertain and right: a retrieval that was not
#   needed.
# - **Alignment** is what is left, the share whose certainty is deserved.

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6.4, 1.9), dpi=80)
begin = 0
for name, count, colour in (
    ("certain, right", scores.certain_right, "#1f66b8"),
    ("uncertain, wrong", scores.uncertain_wrong, "#8fb8e0"),
    ("overconfident", scores.certain_wrong, "#bf5410"),
    ("conservative", scores.uncertain_right, "#f0b080"),
):
    axes.barh(0, count, left=begin, color=colour, label=f"{name} ({count})")
    begin += count
axes.set(xlim=(0, begin), xlabel="answers; blue is alignment", yticks=[])
axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
figure.tight_layout()

# %% [markdown]
# ## Table 6, and a line of Table 5
#
# `read_certainty` does the counting for a whole file and puts a 95 % bootstrap interval beside
# each mean. *Static* retrieves for every question; *adaptive* only where the model was uncertain.

# %%
from IPython.display import Markdown

from skr_lab.experiments.recorded_certainty import read_certainty


def table(head, rows):
    """A table in Markdown, which notebooks draw."""
    lines = [head, ["---"] * len(head), *rows]
    return Markdown("\n".join(f"| {' | '.join(map(str, line))} |" for line in lines))


def shown(cell):
    return f"{cell.mean:.3f} ({cell.low:.3f} to {cell.high:.3f})"


PAPER = {  # ChatGPT, NQ, Vanilla: Table 6, and dense documents of Table 5
    "unc_rate": 0.254,
    "accuracy": 0.468,
    "conservativeness": 0.060,
    "overconfidence": 0.338,
    "alignment": 0.602,
    "static": 0.506,
    "adaptive": 0.490,
}
(row,) = read_certainty(path).result({}).rows
here = f"here (n {row.cells['accuracy'].n})"
rows = [[name, shown(row.cells[name]), f"{printed:.3f}"] for name, printed in PAPER.items()]
table(["", here, "paper, ChatGPT (n 500)"], rows)

# %% [markdown]
# Over the sample the two columns are of different models and different questions, so nothing
# follows from their difference. What can be compared is the *kind* of finding: here as in the
# paper, many answers are certain and wrong.
#
# ## Does asking otherwise help?
#
# The paper has seven ways of asking, and finds that a threat makes models more careful. Here are
# two of them over the sample:

# %%
rows = {way: read_certainty(write_pairs(way)).result({}).rows[0] for way in WAYS}
table(
    ["", *WAYS],
    [[name, *(f"{rows[way].cells[name].mean:.3f}" for way in WAYS)] for name in PAPER],
)

# %% [markdown]
# Punishment moves answers from certain to uncertain: overconfidence falls and conservativeness
# rises. Whether that pays is the last line, the accuracy of retrieving where the model is
# uncertain, beside the one above it, that of always retrieving. Here it does not.
#
# ## What the published replies give
#
# The same cells over the 256 recorded replies of ChatGPT, beside the paper's figures of all 500:
#
# | ChatGPT, NQ, Vanilla | here (n 256) | paper (n 500) |
# | --- | --- | --- |
# | unc_rate | 0.246 (0.195 to 0.301) | 0.254 |
# | accuracy | 0.469 (0.406 to 0.531) | 0.468 |
# | conservativeness | 0.051 (0.023 to 0.078) | 0.060 |
# | overconfidence | 0.336 (0.277 to 0.395) | 0.338 |
# | alignment | 0.613 (0.551 to 0.672) | 0.602 |
# | static | 0.531 (0.469 to 0.590) | 0.506 |
# | adaptive | 0.500 (0.438 to 0.559) | 0.490 |
#
# Every figure of the paper lies inside the interval beside it. What does that show, and what not?
#
# - The recorded replies seem to be a part of the very run that the paper reports. So agreement
#   shows that the *measures* are the paper's. It does not show that ChatGPT would answer like
#   this today.
# - The model of the paper, `gpt-3.5-turbo-0301`, is shut down: nobody can run that row again.
# - The intervals are wide. Two ways of asking that differ by three points can hardly be told
#   apart on 256 questions, or on 500.
# - An answer counts as right where it contains a right one, as in the paper. Longer answers
#   contain more, so an explanation raises the accuracy without the model knowing more.

# %% [markdown]
# ## The same with a model that searches
#
# The paper asks a model whether it is certain. A model that may search says so by searching. In 499
# published traces of R1-Searcher, a model of seven billion parameters trained to search ([MIT
# licence](https://github.com/RUCAIBox/R1-Searcher)), the questions that it searched for most were
# those that it got wrong:
#
# | searches | questions | right |
# | --- | --- | --- |
# | 0 to 1 | 13 | 0.62 |
# | 2 | 389 | 0.76 |
# | 3 | 77 | 0.43 |
# | 4 to 5 | 20 | 0.35 |
#
# Most of these questions need two. A long search is the mark of a hard question, not its cure,
# which is why the loop has a bound. Where `SKR_DATA` names the folder, this cell counts again:

# %%
import gzip

TRACES = Path(os.environ.get("SKR_DATA", "nowhere")) / "multistep_traces.jsonl.gz"
if TRACES.exists():
    with gzip.open(TRACES, "rt", encoding="utf-8") as lines:
        traces = [each for each in map(json.loads, lines) if "r1-searcher" in each["source"]]
    for least, most in ((0, 1), (2, 2), (3, 3), (4, 5)):
        some = [each["correct"] for each in traces if least <= len(each["steps"]) <= most]
        searches = f"{least}" if least == most else f"{least} to {most}"
        print(f"| {searches} | {len(some)} | {sum(some) / len(some):.2f} |")

# %% [markdown]
# ## Exercises
#
# **1.** An answer counts as right where it contains a right one, as in the paper. How many of the
# sample's answers are right by exact match (`rescore` of `skr_learn`)?
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# from skr_learn import rescore
#
# strict = rescore(records, metric="exact_match")
# for each in (records, strict):
#     print(sum(one.outcomes["direct"].score for one in each), "of", len(each))
# ```
#
# None or few: the model answers in sentences. A table that does not say its metric says nothing.
#
# </details>
#
# **2.** What would retrieving at random bring, for as many questions as the uncertain ones? If
# asking for certainty does no better, it is not worth its call.
#
# <details markdown="1"><summary>Solution</summary>
#
# ```python
# rate = row.cells["unc_rate"].mean
# never, always = row.cells["accuracy"].mean, row.cells["static"].mean
# print("at random:", round((1 - rate) * never + rate * always, 3))
# print("adaptive: ", round(row.cells["adaptive"].mean, 3))
# ```
#
# What lies between the two is what the certainty is worth.
#
# </details>
#
# ## The same from the command line
#
# ```sh
# skr-lab run recorded-certainty --set recorded=$SKR_DATA/whentoretrieve_nq_chatgpt.jsonl.gz
# skr-lab run certainty --set questions=questions.jsonl --set model=openai:gpt-4.1-mini
# skr-lab run adaptive --set questions=questions.jsonl --set corpus=wiki.jsonl    # Table 5
# ```
#
# Which command belongs to which table of the three papers, what was found, and where a paper does
# not add up: [the three papers](../../lab/docs/papers.md).
