"""Experiments over recorded data: what is found, not how fast."""
