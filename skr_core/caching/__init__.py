"""What was replied and decided before, kept so that nothing is asked twice."""

from skr_core.caching.adapting import AnyCache, as_cache
from skr_core.caching.models import CachedModel
from skr_core.caching.routers import CachedRouter
from skr_core.caching.sqlite import SqliteCache

__all__ = ["AnyCache", "CachedModel", "CachedRouter", "SqliteCache", "as_cache"]
