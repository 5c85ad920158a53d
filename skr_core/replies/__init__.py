"""Every reading of what a language model wrote, each kind in one module.

Collection, routing, the loop and evaluation share these readings. Model output is untrusted:
anything may come, nothing raises, and a reading takes time in proportion to the reply's length.

==============  =================================================================
`certainty`     the answer together with how certain the model is of it (W2R)
`choice`        the option that an answer chooses (SKR, Table 4)
`conclusion`    what follows "the answer is"
`lists`         the items of a bulleted or numbered list
`need`          whether the model asks for help (SKR, Table 2)
`queries`       what to search next (RaLLM §5.2)
`refusal`       whether the model refuses, or says that it does not know (RaLLM §5.1)
`verdict`       the verdict of a judge: sufficient, right, entailed
==============  =================================================================
"""
