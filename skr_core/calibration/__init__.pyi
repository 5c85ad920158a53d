from .actions import replay_actions as replay_actions
from .calibrate import Calibration as Calibration
from .calibrate import calibrate as calibrate
from .choice import Aim as Aim
from .curve import RoutingCurve as RoutingCurve
from .replay import replay as replay
