"""The results of runs: as tables, drawings, sentences, a page and a notebook."""

from skr_app.report.blocks import Section, with_about
from skr_app.report.drawings import AgainstCost, Forest, Lines, drawing_of, plot
from skr_app.report.findings import findings_of_result
from skr_app.report.notebook import report_notebook
from skr_app.report.page import read_section, report_page, section_of_printed
from skr_app.report.run_folder import (
    RunFolder,
    ask_and_judge,
    read_result,
    read_scores,
    score_rows,
)
from skr_app.report.sections import accuracy_by_rounds, section_of_result, worst
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
from skr_app.report.writing import (
    CROSS_FITTED,
    check_report,
    judged_on,
    records_again,
    scores_again,
    write_report,
)

__all__ = [
    "CROSS_FITTED",
    "AgainstCost",
    "Comparison",
    "Forest",
    "Lines",
    "Result",
    "Row",
    "RunFolder",
    "Section",
    "accuracy_by_rounds",
    "ask_and_judge",
    "check_report",
    "compare",
    "drawing_of",
    "findings_of_result",
    "judged_on",
    "plot",
    "read_result",
    "read_scores",
    "read_section",
    "records_again",
    "report_notebook",
    "report_page",
    "row_of",
    "score_rows",
    "scores_again",
    "section_of_printed",
    "section_of_result",
    "show_result",
    "shown",
    "to_markdown",
    "with_about",
    "worst",
    "write_report",
]
