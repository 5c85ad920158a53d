"""Asking systems the same questions, and judging what they answer."""
