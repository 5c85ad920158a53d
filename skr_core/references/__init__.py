"""References: what is cited of them, how rankings are fused, and what of them can be stored."""
