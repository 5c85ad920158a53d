from .calibrate import Calibration as Calibration
from .calibrate import calibrate as calibrate
from .curve import RoutingCurve as RoutingCurve
from .replay import replay as replay
