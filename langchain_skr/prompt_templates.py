"""LangChain's prompt templates: as the words of a system, and as those of a document.

Example:
    >>> from langchain_core.prompts import ChatPromptTemplate
    >>> usual = ChatPromptTemplate.from_messages(
    ...     [("system", "Answer from these: {context}"), ("human", "{input}")]
    ... )
    >>> as_templates(usual).answer_with_references
    ChatTemplate(user='{question}', system='Answer from these: {references}')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.prompts import (
    BasePromptTemplate,
    ChatPromptTemplate,
    MessagesPlaceholder,
    aformat_document,
    format_document,
)
from langgraph.errors import GraphBubbleUp

from langchain_skr.documents import to_document
from skr_core.errors import InputError, NoReferencesError, translated
from skr_core.flow import arun, run
from skr_core.ports import Retriever, version_of
from skr_core.prompts.templates import (
    DEFAULT_TEMPLATES,
    PromptTemplates,
    Template,
    as_format,
    template_of,
)
from skr_core.references.found import FoundReferences, errors_of
from skr_core.references.fusion import arranged
from skr_core.types import Reference

_OURS = ("demonstrations", "history", "limit", "missing", "partial", "queries", "searched")
_PLACEHOLDERS = {name: f"{{{name}}}" for name in _OURS} | {
    "question": "{question}",
    "input": "{question}",
    "references": "{references}",
    "context": "{references}",
    "chat_history": "{history}",
}
_ROLES = {"human": "user", "ai": "assistant"}


def as_templates(
    prompts: BasePromptTemplate[Any] | str | Mapping[str, BasePromptTemplate[Any] | str],
    templates: PromptTemplates = DEFAULT_TEMPLATES,
) -> PromptTemplates:
    """Replace some of the words of a system by LangChain's templates.

    A prompt by itself, such as that of a chain by ``create_retrieval_chain``, asks for an answer
    from references; what it says of the manner of an answer is said before the other prompts that
    ask for one too, see `PromptTemplates.worded`.

    LangChain's usual names of the parts, ``{input}``, ``{context}`` and ``{chat_history}``, are
    understood beside ``{question}``, ``{references}`` and ``{history}``. System messages stay so.
    The earlier turns of the conversation are sent before the question anyway, so a placeholder for
    messages is left empty. Other variables are filled for each run, as those of instructions are.

    Args:
        prompts: A prompt, or the templates by the names of `PromptTemplates`.
        templates: The words that stay where `prompts` has none.

    Raises:
        InputError: There is no template of that name, or one lacks a placeholder that it needs.
    """
    if isinstance(prompts, BasePromptTemplate | str):
        return templates.worded(_template(prompts))
    names = [each.name for each in fields(templates)]
    if unknown := sorted(set(prompts) - set(names)):
        raise InputError(f"no prompt is called {', '.join(unknown)}: there are {', '.join(names)}")
    return replace(templates, **{name: _template(each) for name, each in prompts.items()})


class TemplatedInstructions:
    """Instructions that a prompt template writes anew for each run; a function of its config.

    Its variables are filled from the run's ``configurable``; a chain fills them from the other keys
    of its input too.

    Args:
        template: The template; its messages are joined to one text.

    Raises:
        InputError: It is none.

    Example:
        >>> from langchain_core.prompts import PromptTemplate
        >>> words = TemplatedInstructions(PromptTemplate.from_template("You speak to {user}."))
        >>> words({"configurable": {"user": "Ada"}})
        'You speak to Ada.'
    """

    def __init__(self, template: object) -> None:
        if not isinstance(template, BasePromptTemplate):
            raise InputError(
                f"instructions is {type(template).__name__}: give a text, a prompt template, or a "
                "function of a run's config"
            )
        self.template: BasePromptTemplate[Any] = template

    def __call__(self, config: Mapping[str, Any]) -> str:
        """Return the instructions of a run with this config."""
        return self.written(config.get("configurable") or {})

    def written(self, values: Mapping[str, Any]) -> str:
        """Return the instructions with these values.

        Raises:
            InputError: A variable has none.
        """
        named = self.template.input_variables
        if missing := sorted(set(named) - values.keys()):
            raise InputError(
                f"the instructions name {{{'}, {'.join(missing)}}}, which neither the run's "
                "configurable nor the input of a chain holds"
            )
        prompt = self.template.format_prompt(**{name: values[name] for name in named})
        return "\n\n".join(str(each.text) for each in prompt.to_messages())


class PromptedRetriever:
    """A retriever whose references are shown to models as a template writes them.

    What comes back to the user is the document as it is.

    Args:
        retriever: The retriever.
        document_prompt: A template of ``{page_content}`` and the names of metadata, as of
            LangChain's ``create_stuff_documents_chain``.

    Raises:
        InputError: The template is none.
        NoReferencesError: While retrieving: a document lacks metadata that the template names. It
            ends the question: searching on would not fill the template.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.prompts import PromptTemplate
        >>> from langchain_core.runnables import RunnableLambda
        >>> from langchain_skr import LangChainRetriever
        >>> found = [Document("It is in France.", metadata={"page": 3})]
        >>> search = LangChainRetriever(RunnableLambda(lambda query: found))
        >>> prompt = PromptTemplate.from_template("{page_content} (page {page})")
        >>> (reference,) = PromptedRetriever(search, prompt).retrieve("Paris")
        >>> reference.text, reference.shown
        ('It is in France.', 'It is in France. (page 3)')
    """

    def __init__(self, retriever: Retriever, document_prompt: object) -> None:
        if not isinstance(document_prompt, BasePromptTemplate):
            given = type(document_prompt).__name__
            raise InputError(f"a document_prompt is wanted, not {given}: give a PromptTemplate")
        self.retriever = retriever
        self.document_prompt: BasePromptTemplate[Any] = document_prompt
        self.name = retriever.name

    @property
    def version(self) -> str:
        """The retriever's settings, and the words that a document is shown in."""
        return f"{version_of(self.retriever)} {self.document_prompt!r}"

    def retrieve(self, query: str) -> Sequence[Reference]:
        """Find references, best first."""
        found = self.retriever.retrieve(query)
        with translated(NoReferencesError, self.name, GraphBubbleUp):
            texts = [format_document(to_document(each), self.document_prompt) for each in found]
        return _shown(found, texts)

    async def aretrieve(self, query: str) -> Sequence[Reference]:
        """Async version of `retrieve`."""
        found = await self.retriever.aretrieve(query)
        with translated(NoReferencesError, self.name, GraphBubbleUp):
            texts = [
                await aformat_document(to_document(each), self.document_prompt) for each in found
            ]
        return _shown(found, texts)

    def arrange(self, references: Sequence[Reference]) -> Sequence[Reference]:
        """The references in the order in which they are read."""
        return run(arranged(self.retriever, references))

    async def aarrange(self, references: Sequence[Reference]) -> Sequence[Reference]:
        """Async version of `arrange`."""
        return await arun(arranged(self.retriever, references))


def _shown(found: Sequence[Reference], texts: Sequence[str]) -> FoundReferences:
    references = [replace(each, shown=text) for each, text in zip(found, texts, strict=True)]
    return FoundReferences(references, errors_of(found))


def _template(prompt: BasePromptTemplate[Any] | str) -> Template:
    if isinstance(prompt, str):
        return prompt
    turns = _placeholders_of_messages(prompt)
    variables = {name: f"{{{name}}}" for name in prompt.input_variables}
    # Filled with placeholders, so that partial values and every template format are LangChain's.
    messages = prompt.format_prompt(**{**variables, **_PLACEHOLDERS, **turns}).to_messages()
    return template_of([(_role(each), as_format(str(each.text))) for each in messages])


def _placeholders_of_messages(prompt: BasePromptTemplate[Any]) -> dict[str, list[BaseMessage]]:
    parts = prompt.messages if isinstance(prompt, ChatPromptTemplate) else []
    return {each.variable_name: [] for each in parts if isinstance(each, MessagesPlaceholder)}


def _role(message: BaseMessage) -> str:
    return _ROLES.get(message.type, message.type)
