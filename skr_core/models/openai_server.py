"""Servers that speak OpenAI's language: their address and their key.

Example:
    >>> server = server_address("http://localhost:8000/v1")
    >>> server_key("mine", server)
    'mine'
"""

from __future__ import annotations

import os

PLACEHOLDER_KEY = "none"
"""Sent to a server that wants no key: the OpenAI client refuses to start without one."""


def server_address(base_url: str | None = None) -> str | None:
    """Return the address given, else that of the environment; None is OpenAI itself.

    Example:
        >>> server_address("http://localhost:8000/v1")
        'http://localhost:8000/v1'
    """
    return base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")


def server_key(api_key: str | None, server: str | None) -> str | None:
    """Return the key given, else that of the environment, else a placeholder.

    Args:
        api_key: The key that the caller gave.
        server: The address, as `server_address` returned it.

    Returns:
        None where a key is missing: OpenAI itself wants one.

    Example:
        >>> import os
        >>> expected = os.environ.get("OPENAI_API_KEY") or PLACEHOLDER_KEY
        >>> server_key(None, "http://localhost:8000/v1") == expected
        True
    """
    return api_key or os.environ.get("OPENAI_API_KEY") or (PLACEHOLDER_KEY if server else None)
