"""LlamaIndex's engines that ours stand beside, with their own words and defaults."""

from __future__ import annotations

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.query.query_transform import StepDecomposeQueryTransform
from llama_index.core.llms import LLM
from llama_index.core.query_engine import (
    MultiStepQueryEngine,
    RetrieverQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.tools import QueryEngineTool


def peers(llm: LLM, retriever: BaseRetriever, about: str) -> dict[str, BaseQueryEngine]:
    """Each engine by its name: one that searches once, and two for questions of several hops.

    Args:
        llm: The model of all.
        retriever: What all search with.
        about: What the passages tell, for the engines whose prompts say it.
    """
    # Not awaited, and with the model of all in the place of `Settings.llm`.
    synthesizer = get_response_synthesizer(llm=llm)
    plain = RetrieverQueryEngine.from_args(retriever, llm=llm)
    return {
        "RetrieverQueryEngine": plain,
        "SubQuestionQueryEngine": SubQuestionQueryEngine.from_defaults(
            [QueryEngineTool.from_defaults(plain, name="library", description=about)],
            llm=llm,
            question_gen=LLMQuestionGenerator.from_defaults(llm),
            response_synthesizer=synthesizer,
            use_async=False,
            verbose=False,
        ),
        "MultiStepQueryEngine": MultiStepQueryEngine(
            plain,
            StepDecomposeQueryTransform(llm),
            response_synthesizer=synthesizer,
            index_summary=about,
        ),
    }
