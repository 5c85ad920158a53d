"""Names that a shell completes: stores, models and routers, found without opening anything."""

from __future__ import annotations

from pathlib import Path

MODELS = ("extractive", "openai:gpt-4.1-mini", "anthropic:claude-haiku-4-5")
"""Examples of --model; there are more than a list could hold."""
ROUTERS = ("always", "never", "prompt", "confidence", "certainty_level", "uncertainty")
"""Routers that need no records."""


def models(incomplete: str) -> list[str]:
    """Models that begin so.

    Example:
        >>> models("ex")
        ['extractive']
    """
    return [each for each in MODELS if each.startswith(incomplete)]


def routers(incomplete: str) -> list[str]:
    """Routers that need no records, and files, as `skr calibrate` makes them.

    Example:
        >>> routers("nev")
        ['never']
    """
    return [each for each in ROUTERS if each.startswith(incomplete)] + _paths(incomplete)


def stores(incomplete: str) -> list[str]:
    """Folders, in which a store may be."""
    return [each for each in _paths(incomplete) if each.endswith("/")]


def _paths(incomplete: str) -> list[str]:
    folder, _, begun = incomplete.rpartition("/")
    within = f"{folder}/" if "/" in incomplete else ""
    try:
        found = sorted(Path(within or ".").expanduser().iterdir())
    except OSError:
        return []
    return [
        f"{within}{each.name}{'/' if each.is_dir() else ''}"
        for each in found
        if each.name.startswith(begun) and (begun or each.name[0] != ".")
    ]
