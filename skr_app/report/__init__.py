"""The results of runs: as tables, drawings, sentences and a page."""

from skr_app.report.drawings import Forest, Lines, Scatter, drawing_of, plot
from skr_app.report.findings import PAIRS, findings_of_result
from skr_app.report.page import read_section, report_page
from skr_app.report.run_folder import (
    RunFolder,
    ask_and_judge,
    read_curve,
    read_result,
    read_scores,
)
from skr_app.report.sections import Section, accuracy_by_rounds, section_of_result, worst
from skr_app.report.tables import (
    Comparison,
    Result,
    Row,
    compare,
    row_of,
    show_result,
    shown,
    to_markdown,
)

__all__ = [
    "PAIRS",
    "Comparison",
    "Forest",
    "Lines",
    "Result",
    "Row",
    "RunFolder",
    "Scatter",
    "Section",
    "accuracy_by_rounds",
    "ask_and_judge",
    "compare",
    "drawing_of",
    "findings_of_result",
    "plot",
    "read_curve",
    "read_result",
    "read_scores",
    "read_section",
    "report_page",
    "row_of",
    "section_of_result",
    "show_result",
    "shown",
    "to_markdown",
    "worst",
]
