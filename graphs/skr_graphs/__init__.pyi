from .answerer import CompiledGraph as CompiledGraph
from .answerer import GraphAnswerer as GraphAnswerer
from .context import SKRContext as SKRContext
from .self_completion import create_self_completion_graph as create_self_completion_graph
from .state import SKRInput as SKRInput
from .state import SKROutput as SKROutput
from .state import SKRState as SKRState
from .state import answer_of as answer_of
