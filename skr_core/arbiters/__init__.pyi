from .answers import Seen as Seen
from .answers import SeenAnswer as SeenAnswer
from .arbiter import Arbiter as Arbiter
from .ladder import Ladder as Ladder
from .margins import MarginArbiter as MarginArbiter
