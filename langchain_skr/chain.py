"""create_skr_chain: stands where ``retriever | prompt | model | parser`` stood."""

from __future__ import annotations

from functools import partial
from typing import Literal, overload

from typing_extensions import Unpack

from langchain_skr import advice
from langchain_skr.adapters import ModelLike, RetrieverLike
from langchain_skr.graph import CHAIN_OPTIONS, ChainOptions, create_skr_graph
from langchain_skr.graph_chain import SKRChain
from langchain_skr.sources_chain import SKRSourcesChain
from skr_core.errors import InputError
from skr_core.options import refuse_unknown


@overload
def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: Literal[False] = False,
    **options: Unpack[ChainOptions],
) -> SKRChain: ...


@overload
def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: Literal[True],
    **options: Unpack[ChainOptions],
) -> SKRSourcesChain: ...


@overload
def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: bool,
    **options: Unpack[ChainOptions],
) -> SKRChain | SKRSourcesChain: ...


def create_skr_chain(
    model: ModelLike,
    retriever: RetrieverLike,
    *,
    return_sources: bool = False,
    **options: Unpack[ChainOptions],
) -> SKRChain | SKRSourcesChain:
    """Make a chain that retrieves only when needed and until the references suffice.

    Args:
        model: As for `create_skr_graph`.
        retriever: As for `create_skr_graph`.
        return_sources: Give the answer with its sources, see `AnswerWithSources`, in place of its
            text.
        **options: The other options of `create_skr_graph`, ``review_queries`` excepted.

    Returns:
        A runnable: a string, messages, ``{"question": str, "history": [messages]}`` or
        ``{"messages": [messages]}`` in, the answer's text out, or with `return_sources` a dict.
        ``stream`` yields the final answer's tokens alone, or pieces of the dict that add up to it.
        ``with_config(configurable={"router": ...})`` replaces the
        router of a run; ``reflector``, ``budget`` and ``when_insufficient`` too.

    Raises:
        InputError: The model or the retriever is not usable, or ``review_queries`` is asked for.
        OptionError: There is no option of a name that was given.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_core.documents import Document
        >>> from langchain_core.runnables import RunnableLambda
        >>> model = FakeListChatModel(responses=["Paris [1]."])
        >>> search = RunnableLambda(lambda query: [Document("Paris is the capital of France.")])
        >>> create_skr_chain(model, search).invoke("What is the capital of France?")
        'Paris [1].'
        >>> chain = create_skr_chain(model, search, return_sources=True)
        >>> answer = chain.invoke("What is the capital of France?")
        >>> answer["answer"], answer["context"][0].page_content, answer["grounded"]
        ('Paris [1].', 'Paris is the capital of France.', True)
    """
    if "review_queries" in options:
        raise InputError(
            "a chain cannot stop for a person: use create_skr_graph for review_queries"
        )
    known = CHAIN_OPTIONS | {"return_sources"}
    refuse_unknown("create_skr_chain", options, known, advice.CHAIN)
    graph = create_skr_graph(model, retriever, **options)
    chain = SKRSourcesChain(graph) if return_sources else SKRChain(graph)
    again = partial(create_skr_chain, return_sources=return_sources, **options)
    chain._made_of = again, (model, retriever)
    return chain
