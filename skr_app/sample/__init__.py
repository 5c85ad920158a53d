"""An invented country to try everything in: passages, questions of known kinds, a memory."""

from skr_app.sample.reading import Sample, load_sample

__all__ = ["Sample", "load_sample"]
