"""What came before a question in its conversation, and the question without it.

| module | what it is about |
|---|---|
| `turns` | the latest turns that fit, as a model is shown them |
| `leaning` | does a question need them to be understood? Decided without a model |
| `condensing` | the question on its own, asked of a model where it does |
"""
