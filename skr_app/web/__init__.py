"""The page that shows the loop: what ``skr serve`` serves."""

from skr_app.web.access import LARGEST_BODY, LARGEST_UPLOAD, Access
from skr_app.web.app import STATIC, Page, create_app
from skr_app.web.calibrating import UNKNOWN, Calibrating
from skr_app.web.documents import MOST_FILES, Documents, checked_name
from skr_app.web.runs import Runs, ServedSystem
from skr_app.web.streaming import serve_app, server_of

__all__ = [
    "LARGEST_BODY",
    "LARGEST_UPLOAD",
    "MOST_FILES",
    "STATIC",
    "UNKNOWN",
    "Access",
    "Calibrating",
    "Documents",
    "Page",
    "Runs",
    "ServedSystem",
    "checked_name",
    "create_app",
    "serve_app",
    "server_of",
]
