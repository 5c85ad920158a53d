"""Key-facts of a question: made by a model, reviewed by a person, frozen (RaLLM §3)."""
