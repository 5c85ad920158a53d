"""The reference store: Chroma for vectors, BM25 for words, and a journal from which both come."""
