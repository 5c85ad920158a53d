"""unstreamed: what retrievers, routers and reflectors say with models of their own is no answer.

Example:
    >>> from langchain_core.runnables import RunnableLambda
    >>> tags = RunnableLambda(lambda _, config: config["tags"])
    >>> with unstreamed():
    ...     tags.invoke(None)
    ['nostream']
"""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

NOSTREAM = "nostream"
"""LangGraph shows nothing with this tag in ``stream_mode="messages"``."""


class unstreamed:
    """Tag whatever LangChain runs within, in this thread or task, so that it is not shown."""

    def __enter__(self) -> None:
        config: RunnableConfig = var_child_runnable_config.get() or {}
        tagged: RunnableConfig = {**config, "tags": [*(config.get("tags") or ()), NOSTREAM]}
        self._token = var_child_runnable_config.set(tagged)

    def __exit__(self, *exc: object) -> None:
        var_child_runnable_config.reset(self._token)
