# %% [markdown]
# # Reproduce a table of the papers
#
# This project stands on three papers, and each of their tables has a command. This tutorial takes
# one question of one of them, *does a model know what it knows?*, and follows it from the
# recorded answers to the printed table, so that you can do the same with your model, and can say
# what a difference between your figures and the paper's means.
#
# The paper is [When Do LLMs Need Retrieval Augmentation?](https://arxiv.org/abs/2402.11457)
# (W2R). It asks a model a question together with *are you certain?*, and counts how often the
# certainty is deserved: Table 6 of its appendix. Then it retrieves only where the model is
# uncertain: Table 5.
#
# ## The answers
#
# The authors published replies of ChatGPT to 500 questions of Natural Questions. Where a folder
# of recorded data is named by `SKR_DATA`, this notebook reads 256 of them from
# `whentoretrieve_nq_chatgpt.jsonl.gz`. They are not part of the package, so what you see **below
# was made without them**: the same measures over a small sample, which the next cells make in
# place. What the published replies gave stands at the end, beside the paper's figures.

# %%
import os
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
# uncertain, beside the one above it, that of always retrieving.
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
