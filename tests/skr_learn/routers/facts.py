"""Records and models of which it is known what they know."""

from __future__ import annotations

from skr_core import Generation, Prompt
from skr_core.testing import ScriptedModel
from skr_core.types import Stamp
from skr_learn import Record

STAMP = Stamp(model="m", retriever="r", metric="contains")
KNOWN = [
    "Avon",
    "Boyne",
    "Clyde",
    "Douro",
    "Ebro",
    "Forth",
    "Garonne",
    "Humber",
    "Indus",
    "Jordan",
    "Kura",
    "Loire",
    "Marne",
    "Neckar",
    "Oder",
    "Po",
    "Rhine",
    "Seine",
    "Tagus",
    "Ural",
    "Volga",
    "Weser",
    "Yser",
    "Zambezi",
    "Danube",
    "Elbe",
    "Main",
    "Saale",
    "Tiber",
    "Meuse",
]
UNKNOWN = [
    "Acme",
    "Borel",
    "Cobalt",
    "Delphi",
    "Emco",
    "Fabrik",
    "Gantry",
    "Halden",
    "Ibex",
    "Juno",
    "Kappa",
    "Lumen",
    "Mercer",
    "Norden",
    "Orbis",
    "Pylon",
    "Quanta",
    "Ronda",
    "Sirius",
    "Tekno",
    "Umbra",
    "Vektor",
    "Wexford",
    "Xylo",
    "Yarrow",
    "Zenith",
    "Argo",
    "Bolt",
    "Crest",
    "Dyna",
]


def river(name: str) -> str:
    return f"Into which sea does the river {name} flow?"


def firm(name: str) -> str:
    return f"Who keeps the books of the {name} company?"


def known(name: str, **extra: object) -> Record:
    return Record.of(
        river(name),
        [f"{name} sea"],
        direct=(f"The {name} sea.", 1),
        single=("Nothing.", 0),
        stamp=STAMP,
        extra=extra,
    )


def unknown(name: str, **extra: object) -> Record:
    return Record.of(
        firm(name),
        [f"Mr {name}"],
        direct=("I don't know.", 0),
        single=(f"Mr {name} [1].", 1),
        stamp=STAMP,
        extra=extra,
    )


def answered(question: str, direct: float, single: float, **more: object) -> Record:
    return Record.of(question, direct=("a", direct), single=("b", single), **more)


def records(n: int = 20) -> list[Record]:
    """As many known as unknown."""
    return [
        make(name)
        for pair in zip(KNOWN[:n], UNKNOWN[:n], strict=True)
        for make, name in zip((known, unknown), pair, strict=True)
    ]


class HalfKnowingModel(ScriptedModel):
    """Knows where rivers flow, and who keeps a firm's books where a reference says so."""

    def __init__(self) -> None:
        super().__init__(name="half-knowing")

    def generate(self, prompt: Prompt, *, on_token=None) -> Generation:
        name = prompt.question.split()[-2]
        if "river" in prompt.question:
            return Generation(f"The {name} sea.")
        return Generation(f"Mr {name} [1]." if prompt.references else "I don't know.")
