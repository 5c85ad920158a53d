from .entailment import EntailmentReflector as EntailmentReflector
from .judge import JudgeReflector as JudgeReflector
from .learned import LearnedReflector as LearnedReflector
from .refusal import RefusalReflector as RefusalReflector
