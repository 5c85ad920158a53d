"""An invented coast: what holds of it, the passages that say so, and ten questions of ten kinds.

Lighthouses, who designed them, where these were born, who is mayor there: each fact is one sentence
of one passage, among others that are near to it and say something else. One name is borne by two
people, one table has numbers, and what prizes a designer was awarded is told of two alone. What the
passages do not say is by heart: the capitals of countries (`CAPITALS`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

PLACES = (
    *("Elder Ness", "Fallow Head", "Gull Rock", "Hern Point", "Ivy Sound", "Kestrel Bay"),
    *("Lark Island", "Marl Cliff", "Nether Quay", "Otter Skerry", "Pike Shoal", "Quern Stack"),
    *("Raven Bar", "Sallow Reef", "Tern Holm", "Vane Spit"),
)
DESIGNERS = (
    *("Abel Thorn", "Amy Lark", "Ada Quill", "Alan Moss", "Agnes Reed", "Arne Holt"),
    *("Ines Calder", "Bruno Faye", "Clara Winn", "Dorian Peck", "Edith Voss", "Felix Orme"),
    *("Greta Lund", "Harald Bly", "Isolde Kerr", "Jonas Tull"),
)
TOWNS = (
    *("Aldmouth", "Brine", "Port Elm", "Corfield", "Dunmere", "Eastwick", "Fenby", "Garrow"),
    *("Holmsea", "Inchford", "Jarrowby", "Kelsing", "Lowmoor", "Marsett", "Northolt", "Ormskeld"),
)
MAYORS = (
    *("Petra Sand", "Quentin Ash", "Rosa Vale", "Simon Dray", "Thea Birk", "Una Frost"),
    *("Victor Hale", "Wilma Stagg", "Xaver Noon", "Yara Flint", "Zeno Marsh", "Basil Crane"),
    *("Celia Hurst", "Damian Rook", "Elsa Thwaite", "Fergus Lynn"),
)
YEARS = (
    *(1851, 1862, 1847, 1868, 1841, 1855, 1873, 1859),
    *(1866, 1844, 1870, 1858, 1863, 1849, 1853, 1876),
)
OIL_YEARS = (1882, 1883, 1884, 1885)

CAPITALS = {
    **{"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Norway": "Oslo"},
    **{"Japan": "Tokyo", "Portugal": "Lisbon", "Austria": "Vienna", "Poland": "Warsaw"},
    **{"Greece": "Athens", "Ireland": "Dublin", "Sweden": "Stockholm", "Finland": "Helsinki"},
    **{"Hungary": "Budapest", "Denmark": "Copenhagen", "Egypt": "Cairo", "Cuba": "Havana"},
    **{"Peru": "Lima", "Chile": "Santiago", "Kenya": "Nairobi", "Ghana": "Accra"},
    **{"Nepal": "Kathmandu", "Iran": "Tehran", "Iraq": "Baghdad", "Canada": "Ottawa"},
}

_TOWER = (
    "Its tower of grey granite stands on a ledge that the tide covers twice a day.",
    "Every stone was cut on the mainland and carried over by boat in the calm months.",
    "The lamp burned colza oil, later paraffin, and was trimmed by three keepers in turn.",
    "Since the last of them left it has been worked by a cable from the shore.",
    "In clear weather its beam is seen for eighteen miles.",
    "The fog signal sounds twice a minute, and the gulls no longer mind it.",
)
_LIFE = (
    "The family kept a chandler's shop by the harbour.",
    "There the child drew the ships that came in before it could write.",
    "An apprenticeship with a surveyor of bridges came first, then thirty years of the coast.",
    "Nine notebooks and some two hundred drawings are kept in the archive.",
    "Letters to a sister tell of storms, late wages and the quarrels of masons.",
    "The last of them was written a week before the end.",
)
_TOWN = (
    "The market is held on the second Friday, beside the old rope walk.",
    "Its council meets above the customs house, and its minutes are read aloud.",
    "Herring made it rich, and the railway, when it came, made it quiet again.",
    "Two bridges cross the river, of which the lower one is closed at spring tides.",
    "Visitors ask for the clock, which has been slow since it was hung.",
)
_NIGHT = (
    "The keepers lit it at dusk, and boats from three villages lay off the rock to see it.",
    "A band played on the pier until the rain began.",
    "The wick had come by mail coach and the lens in forty crates of straw.",
    "For a week the pilots complained that they could no longer find their old marks.",
)
_NEAR = (
    "The Lights Board of the coast met four times a year and paid its keepers late. It chose its "
    "engineers by lot for some years, until two of them had been chosen who could not swim.",
    "Colza oil was pressed inland and came to the coast in barrels of thirty-six gallons. A keeper "
    "who spilled a barrel paid for it, and there are songs about the one who spilled nine.",
    "The granite of the towers came from four quarries. That of Ormskeld is the hardest and takes "
    "no polish; the others were used for steps, sills and the houses of the keepers.",
    "A medal was struck when the last tower was finished. It shows a lamp, a gull and a rope, and "
    "was given to the masons of all sixteen lighthouses, who mostly sold it.",
    "Prizes for drawing were awarded at the school of engineers each May. The list of those who "
    "were awarded them before 1860 was lost in the fire of the customs house.",
    "The mayors of the coast wear a chain with as many links as their town has wells. They dine "
    "together once a year, in the town whose turn it is, and quarrel over fishing rights.",
    "The town registers of births begin in 1790. A child born on a boat was entered in the "
    "town to which the boat belonged, which has misled many who search them.",
    "The great storm of November put out seven lights in one night. Four were lit again by morning "
    "and at two the keepers rowed about with lanterns until the day came.",
    "The painters who came to the coast in summer lodged with the keepers. They paid in pictures, "
    "some of which hang in the customs house among the tide tables.",
    "Fog signals were guns at first, then bells, and then sirens. The bells were all cast inland "
    "and each bears the name of the pilot who chose its tone.",
    "An engineer of the Lights Board was paid by the foot of height, which is said to explain the "
    "taller towers. Nobody has found the contracts.",
    "The museum of the coast shows a lens, a log, a wet boot and the model of a tower that was "
    "never built. It is closed in winter and on days when its keeper goes fishing.",
)


def _some(sentences: tuple[str, ...], number: int, count: int = 4) -> str:
    """Some of the sentences, others for each number."""
    return " ".join(sentences[(number + step) % len(sentences)] for step in range(count))


def barrels(place: str, year: int) -> int:
    """What a lighthouse burned in a year."""
    return 380 + 7 * PLACES.index(place) % 61 + 13 * OIL_YEARS.index(year) % 29


def _table(places: tuple[str, ...]) -> str:
    lines = [
        f"| {place} | {' | '.join(str(barrels(place, y)) for y in OIL_YEARS)} |" for place in places
    ]
    head = f"| lighthouse | {' | '.join(map(str, OIL_YEARS))} |"
    return "\n".join(
        [
            "Barrels of oil that each lighthouse burned, by year:",
            "",
            head,
            "|---|---|---|---|---|",
            *lines,
        ]
    )


def _passages() -> Iterator[str]:
    for number, (place, designer, town, mayor, year) in enumerate(
        zip(PLACES, DESIGNERS, TOWNS, MAYORS, YEARS, strict=True)
    ):
        yield f"The lighthouse of {place} was designed by {designer}. {_some(_TOWER, number)}"
        yield f"The lighthouse of {place} was first lit in {year}. {_some(_NIGHT, number, 3)}"
        yield f"{designer} was born in {town}. {_some(_LIFE, number)}"
        yield f"The mayor of {town} is {mayor}. {_some(_TOWN, number)}"
    yield f"Hugo Brandt, the engineer, was born in Garrow. {_some(_LIFE, 1, 3)}"
    yield f"Hugo Brandt, the painter, was born in Lowmoor. {_some(_LIFE, 3, 3)}"
    yield "Agnes Reed was awarded the Harbour Medal. She gave the money to the pilots' widows."
    yield "Jonas Tull was awarded the Surveyors' Prize. He did not come to the dinner."
    for start in range(0, len(PLACES), 4):
        yield _table(PLACES[start : start + 4])
    yield from _NEAR


PASSAGES = tuple(_passages())


@dataclass(frozen=True)
class Asked:
    """A question of a kind.

    Attributes:
        kind: Of the question.
        question: As the user asks it.
        gold: What a right answer names, all of them; nothing where nobody can tell.
        history: The turns before it, user and assistant in turn.
    """

    kind: str
    question: str
    gold: tuple[str, ...] = ()
    history: tuple[str, ...] = ()


QUESTIONS = (
    Asked("known", "What is the capital of France?", ("Paris",)),
    Asked("one hop", "Who designed the lighthouse of Elder Ness?", ("Abel Thorn",)),
    Asked("two hops", "Where was the designer of the lighthouse of Gull Rock born?", ("Port Elm",)),
    Asked(
        "three hops",
        "Who is the mayor of the town where the designer of the lighthouse of Kestrel Bay was "
        "born?",
        ("Una Frost",),
    ),
    Asked(
        "comparison",
        "Which lighthouse was lit first, that of Hern Point or that of Ivy Sound?",
        ("lighthouse of Ivy Sound was lit first",),
    ),
    Asked("unanswerable", "Which prize was the designer of the lighthouse of Fallow Head awarded?"),
    Asked("ambiguous", "Where was Hugo Brandt born?", ("Garrow", "Lowmoor")),
    Asked(
        "follow-up",
        "And where was she born?",
        ("Fenby",),
        (
            "Who designed the lighthouse of Lark Island?",
            "The lighthouse of Lark Island was designed by Ines Calder.",
        ),
    ),
    Asked(
        "another language",
        "Wer hat den Leuchtturm von Otter Skerry entworfen?",
        ("Dorian Peck",),
    ),
    Asked(
        "table",
        "How many barrels of oil were burned by Tern Holm in 1884?",
        (str(barrels("Tern Holm", 1884)),),
    ),
)
"""One of each kind."""

_OTHERS = [place for place in PLACES if not any(place in f"{each}" for each in QUESTIONS)]


def _to_learn_from() -> Iterator[tuple[str, str]]:
    for country, capital in CAPITALS.items():
        if country != "France":
            yield f"What is the capital of {country}?", capital
    for place, other in zip(_OTHERS, [*_OTHERS[1:], _OTHERS[0]], strict=True):
        number = PLACES.index(place)
        born = f"where the designer of the lighthouse of {place} was born"
        earlier = min(place, other, key=lambda each: YEARS[PLACES.index(each)])
        yield f"Who designed the lighthouse of {place}?", DESIGNERS[number]
        yield f"Wer hat den Leuchtturm von {place} entworfen?", DESIGNERS[number]
        yield f"When was the lighthouse of {place} first lit?", str(YEARS[number])
        yield f"Where was the designer of the lighthouse of {place} born?", TOWNS[number]
        yield f"Who is the mayor of the town {born}?", MAYORS[number]
        yield f"Where was {DESIGNERS[number]} born?", TOWNS[number]
        yield (
            f"Which lighthouse was lit first, that of {place} or that of {other}?",
            f"lighthouse of {earlier} was lit first",
        )
        yield f"How many barrels of oil were burned by {place} in 1883?", str(barrels(place, 1883))


TO_LEARN_FROM = tuple(_to_learn_from())
"""Other questions with their answers, of what the ten do not speak of."""
