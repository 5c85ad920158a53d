"""Which router serves a user's own records best, and whether any does."""

from skr_core.calibration.actions import replay_actions
from skr_core.calibration.calibrate import Calibration, calibrate
from skr_core.calibration.choice import Aim
from skr_core.calibration.curve import RoutingCurve
from skr_core.calibration.replay import replay

__all__ = ["Aim", "Calibration", "RoutingCurve", "calibrate", "replay", "replay_actions"]
