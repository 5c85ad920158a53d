"""Every reading of what a language model wrote. Anything may come, and nothing raises."""
