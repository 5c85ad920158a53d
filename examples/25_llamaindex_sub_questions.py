"""A question taken apart: each part is retrieved for until its references suffice."""

import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import SubQuestionQueryEngine
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.tools import QueryEngineTool

from llamaindex_skr import SKRQueryEngine


class FixedQuestions(BaseQuestionGenerator):
    """Stands in for a model; ``LLMQuestionGenerator.from_defaults(llm=llm)`` asks one."""

    def generate(self, tools: object, query: object) -> list[SubQuestion]:
        parts = ("Who directed Jaws?", "What is the capital of France?")
        return [SubQuestion(sub_question=part, tool_name="lookup") for part in parts]

    async def agenerate(self, tools: object, query: object) -> list[SubQuestion]:
        return self.generate(tools, query)

    def _get_prompts(self) -> dict:
        return {}

    def _update_prompts(self, prompts: dict) -> None:
        pass


documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
    Document(text="Paris is the capital of France."),
]
index = SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())
lookup = SKRQueryEngine.from_defaults(index, llm=os.environ.get("SKR_MODEL", "extractive"))
engine = SubQuestionQueryEngine.from_defaults(
    [QueryEngineTool.from_defaults(lookup, name="lookup", description="Looks it up.")],
    llm=MockLLM(max_tokens=5),
    question_gen=FixedQuestions(),
    verbose=False,
    use_async=False,
)
response = engine.query("Who directed Jaws, and what is the capital of France?")
for node in response.source_nodes[:2]:
    print(node.text)
