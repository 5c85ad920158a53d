"""Prompts of the papers alone."""
