"""The embedded default model: answers by quoting, without weights, keys or network."""

from skr_core.extractive.model import ExtractiveModel

__all__ = ["ExtractiveModel"]
