"""Entailment models and judges of the papers."""
