"""The words of the prompts: read them, replace one, or take a paper's."""

import os

from llama_index.core import Document, SimpleKeywordTableIndex
from llama_index.core.llms import MockLLM
from llama_index.core.prompts import PromptTemplate

from llamaindex_skr import SKRQueryEngine
from skr_core.prompts.papers import W2R_TEMPLATES

documents = [
    Document(text="Jaws was directed by Steven Spielberg."),
    Document(text="Steven Spielberg was born in Cincinnati, Ohio."),
    Document(text="Paris is the capital of France."),
]
index = SimpleKeywordTableIndex.from_documents(documents, llm=MockLLM())
engine = SKRQueryEngine.from_defaults(index, llm=os.environ.get("SKR_MODEL", "extractive"))
print("prompts:", ", ".join(engine.get_prompts()))

brief = PromptTemplate(
    'Context:\n{context_str}\n\nIn one word, or only "I cannot answer the question based on the '
    'provided references": {query_str}'
)
engine.update_prompts({"answer_with_references": brief})
print(engine.get_prompts()["answer_with_references"].get_template())

of_a_paper = SKRQueryEngine.from_defaults(
    index, llm=os.environ.get("SKR_MODEL", "extractive"), templates=W2R_TEMPLATES
)
print(of_a_paper.query("Who directed Jaws?"))
