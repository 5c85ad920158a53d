from .embedder import EngineEmbedder as EngineEmbedder
from .engine import Engine as Engine
from .engine import Recipe as Recipe
from .local import LocalEngine as LocalEngine
from .ray_engine import RayEngine as RayEngine
