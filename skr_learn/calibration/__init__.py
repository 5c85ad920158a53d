"""Which router to choose on records, and whether routing pays."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skr_learn.calibration.calibrating import Calibration as Calibration
    from skr_learn.calibration.calibrating import calibrate as calibrate
    from skr_learn.calibration.curve import RoutingCurve as RoutingCurve
    from skr_learn.calibration.replaying import replay as replay

_MODULES = {
    "Calibration": "skr_learn.calibration.calibrating",
    "RoutingCurve": "skr_learn.calibration.curve",
    "calibrate": "skr_learn.calibration.calibrating",
    "replay": "skr_learn.calibration.replaying",
}

__all__ = ["Calibration", "RoutingCurve", "calibrate", "replay"]


def __getattr__(name: str) -> object:
    """Import what is asked for: nobody pays for what is not used."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
