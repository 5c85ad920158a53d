"""Every word that is sent to a language model: one module for each occasion.

| module | what it is about |
|---|---|
| `templates` | answers, and the next queries: sets of words that a run may replace |
| `asking` | prompts for these, rendered from a set |
| `words` | these words as they are by default |
| `papers` | the three papers' own words for the same |
| `routing` | what does the model know? (SKR, W2R) |
| `judging` | verdicts: sufficient, right, entailed |
| `baselines` | the papers' prompt baselines |
| `key_facts` | the making of key-facts (RaLLM §3) |
| `parts` | what the others share: references on numbered lines, a version |

Each set of words has a version, a short hash that belongs into the stamp of what is made with it.
"""
