"""From files to passages in a reference store."""
