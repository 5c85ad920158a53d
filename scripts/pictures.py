"""The pictures of the documentation, drawn anew.

The loop is drawn from the compiled graph: a node or an edge that the graph has and this module does
not know ends it with an error.

Usage: python -m scripts.pictures
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from langgraph.graph import END, START

from scripts.drawing import Arrow, Box, picture
from skr_graphs import create_self_completion_graph

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
LEFT, MIDDLE, RIGHT = 86, 252, 418
"""The columns of the loop, by their centres."""

STEPS: Mapping[str, Box] = {
    START: Box((MIDDLE, 30), "the question", outer=True),
    "condense": Box((MIDDLE, 100), "condense", "makes it stand alone"),
    "route": Box((MIDDLE, 180), "route", "is it known?"),
    "answer_directly": Box((LEFT, 320), "answer_directly", "from memory"),
    "decompose": Box((RIGHT, 250), "decompose", "takes it apart", option=True),
    "retrieve": Box((MIDDLE, 320), "retrieve", "one search a query"),
    "merge": Box((MIDDLE, 400), "merge", "fuses the rankings"),
    "answer": Box((MIDDLE, 480), "answer", "with a verdict"),
    "reflect": Box((MIDDLE, 560), "reflect", "do they suffice?"),
    "follow_up": Box((RIGHT, 480), "follow_up", "what to search next"),
    "finish": Box((MIDDLE, 660), "finish", "resolves citations"),
    "arbitrate": Box((MIDDLE, 740), "arbitrate", "which one to trust", option=True),
    END: Box((MIDDLE, 810), "the answer", outer=True),
}
"""The box of each node: what it does, and where it stands."""

EDGES: Mapping[tuple[str, str], Arrow] = {
    (START, "condense"): Arrow([(252, 45), (252, 75)]),
    ("condense", "route"): Arrow([(252, 123), (252, 155)]),
    ("route", "answer_directly"): Arrow([(180, 174), (86, 174), (86, 295)], "known", (86, 238)),
    ("route", "retrieve"): Arrow([(252, 203), (252, 295)], "unknown", (252, 254)),
    ("route", "decompose"): Arrow([(324, 174), (418, 174), (418, 225)], option=True),
    ("route", "finish"): Arrow([(180, 188), (168, 188), (168, 660), (178, 660)]),
    ("decompose", "retrieve"): Arrow([(418, 273), (418, 312), (326, 312)], option=True),
    ("decompose", "finish"): Arrow([(490, 250), (502, 250), (502, 660), (326, 660)], option=True),
    ("retrieve", "merge"): Arrow([(252, 343), (252, 375)]),
    ("merge", "answer"): Arrow([(252, 423), (252, 455)]),
    ("answer", "reflect"): Arrow([(252, 503), (252, 535)]),
    ("reflect", "follow_up"): Arrow(
        [(324, 560), (418, 560), (418, 505)], "insufficient", (418, 548)
    ),
    ("reflect", "finish"): Arrow([(252, 583), (252, 635)], "sufficient, or a limit", (252, 612)),
    ("follow_up", "retrieve"): Arrow([(418, 457), (418, 328), (326, 328)], "again", (418, 400)),
    ("follow_up", "finish"): Arrow(
        [(490, 480), (502, 480), (502, 660), (326, 660)], "nothing new", (424, 664)
    ),
    ("answer_directly", END): Arrow([(86, 343), (86, 810), (178, 810)]),
    ("finish", "arbitrate"): Arrow([(252, 683), (252, 715)], option=True),
    ("finish", END): Arrow([(324, 670), (342, 670), (342, 810), (326, 810)]),
    ("arbitrate", END): Arrow([(252, 763), (252, 793)], option=True),
}
"""The way of each edge of the graph."""


def loop() -> str:
    """The nodes and edges of the compiled graph.

    Raises:
        KeyError: It has one that is not described above.
        ValueError: One that is described is not there any more.
    """
    graph = create_self_completion_graph().compile().get_graph()
    nodes, edges = set(graph.nodes), {(edge.source, edge.target) for edge in graph.edges}
    if gone := (STEPS.keys() - nodes) | (EDGES.keys() - edges):
        raise ValueError(f"the graph has no {gone} any more")
    return picture(
        "The loop: a question is routed, and answered directly where it is known; else references "
        "are retrieved, answered from and reflected on until they suffice.",
        (516, 840),
        [STEPS[node] for node in sorted(nodes)],
        [EDGES[edge] for edge in sorted(edges)],
    )


def decisions() -> str:
    """What each of the three decisions sees, and what it decides."""
    rows = [
        (
            ("question", "and a direct answer"),
            ("router", "before"),
            ("retrieve?", "or answer at once"),
        ),
        (("draft", "and its references"), ("reflector", "within"), ("enough?", "or search again")),
        (
            ("all answers", "and their references"),
            ("arbiter", "after"),
            ("which one?", "the likeliest"),
        ),
    ]
    boxes, arrows = [], []
    for y, (seen, decider, decided) in zip((45, 135, 225), rows, strict=True):
        boxes += [
            Box((88, y), *seen, outer=True),
            Box((258, y), *decider, width=120),
            Box((428, y), *decided, outer=True),
        ]
        arrows += [Arrow([(160, y), (196, y)]), Arrow([(318, y), (354, y)])]
    arrows += [Arrow([(258, 68), (258, 110)]), Arrow([(258, 158), (258, 200)])]
    boxes.append(
        Box((258, 305), "cascade", "one estimate, asked at all three places", True, width=484)
    )
    return picture(
        "A router decides before retrieval, a reflector within the loop and an arbiter after it; a "
        "cascade is all three.",
        (516, 345),
        boxes,
        arrows,
    )


def records() -> str:
    """From questions with known answers to a system that is served, and back."""
    boxes = [
        Box((252, 40), "your questions", "with known answers", outer=True, width=170),
        Box((252, 120), "collect", "asks in three ways"),
        Box((88, 210), "direct", "from memory"),
        Box((252, 210), "single", "after one round"),
        Box((416, 210), "loop", "until it suffices"),
        Box((252, 300), "records", "right or wrong, and the cost", outer=True, width=210),
        Box((252, 380), "calibrate", "does it pay?"),
        Box((88, 470), "one action", "for every question"),
        Box((252, 470), "router", "an action for each"),
        Box((416, 470), "arbiter", "beside the router", option=True),
        Box((252, 560), "your system", "answers users", outer=True, width=170),
    ]
    arrows = [
        Arrow([(252, 63), (252, 95)]),
        *(Arrow([(252, 143), (252, 165), (x, 165), (x, 185)]) for x in (88, 416)),
        Arrow([(252, 143), (252, 185)]),
        *(Arrow([(x, 233), (x, 255), (252, 255), (252, 275)]) for x in (88, 416)),
        Arrow([(252, 233), (252, 275)]),
        Arrow([(252, 323), (252, 355)]),
        Arrow([(180, 380), (88, 380), (88, 445)], "no", (88, 420)),
        Arrow([(252, 403), (252, 445)], "yes", (252, 430)),
        Arrow([(324, 380), (416, 380), (416, 445)], "it pays too", (416, 420), option=True),
        *(Arrow([(x, 493), (x, 515), (252, 515), (252, 535)]) for x in (88, 416)),
        Arrow([(252, 493), (252, 535)]),
        Arrow([(337, 560), (502, 560), (502, 300), (359, 300)], "feedback", (420, 564)),
    ]
    return picture(
        "Questions with known answers are asked in three ways; the records say which action was "
        "right and what it cost; calibration makes a router of them, or keeps one action for all.",
        (516, 600),
        boxes,
        arrows,
    )


PICTURES = {"loop.svg": loop, "decisions.svg": decisions, "records.svg": records}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
