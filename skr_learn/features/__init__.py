"""What questions and answers show, as tokens and numbers; nothing here is fitted."""

from skr_learn.features.views import STATED, Seen, Shown, Views, stated_in, texts_of

__all__ = ["STATED", "Seen", "Shown", "Views", "stated_in", "texts_of"]
