"""LangChain's prompt templates: as the words of a system, and as those of a document.

Example:
    >>> from langchain_core.prompts import ChatPromptTemplate
    >>> usual = ChatPromptTemplate.from_messages(
    ...     [("system", "Answer from these: {context}"), ("human", "{input}")]
    ... )
    >>> as_templates(usual).answer_with_references
    RunTemplate(user='{question}', system='Answer from these: {references}')
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from secrets import token_hex
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.prompts import (
    BasePromptTemplate,
    ChatPromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
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
    RunTemplate,
    Template,
    escaped,
    messages_of,
    placeholders_of,
    template_of,
)
from skr_core.references.found import FoundReferences, errors_of
from skr_core.references.fusion import arranged
from skr_core.types import Reference

_NAMES = {
    "question": "question",
    "input": "question",
    "references": "references",
    "context": "references",
}
_TURNS = ("history", "chat_history")
_ROLES = {"human": "user", "ai": "assistant"}
_MARK = token_hex(8)  # nobody can write it into a value


def as_templates(
    prompts: BasePromptTemplate[Any] | str | Mapping[str, BasePromptTemplate[Any] | str],
    templates: PromptTemplates = DEFAULT_TEMPLATES,
) -> PromptTemplates:
    """Replace some of the words of a system by LangChain's templates.

    A prompt by itself, such as that of a chain by ``create_retrieval_chain``, asks for an answer
    from references; what it says of the manner of an answer is said before the other prompts that
    ask for one too, see `PromptTemplates.worded`.

    LangChain's usual names of the parts, ``{input}`` and ``{context}``, are understood beside
    ``{question}`` and ``{references}``. System messages stay so; other messages, such as worked
    examples, are sent in one. The earlier turns of the conversation are sent before the question
    anyway, so that a ``MessagesPlaceholder`` called ``history``, ``chat_history`` or ``messages``
    is left empty, and the words of no prompt but ``condense`` may name the first two.

    Every other variable is the app's own. A prompt is written anew for each run by LangChain: with
    the values of its variables, as those of instructions, and of its functions.

    Args:
        prompts: A prompt, or the templates by the names of `PromptTemplates`, which may have the
            placeholders of that name too.
        templates: The words that stay where `prompts` has none.

    Raises:
        InputError: One is no prompt, or there is no template of that name; it lacks a placeholder
            that it needs, or holds what is no text. In a run: a variable has no value, or one that
            the prompt cannot take.
    """
    if isinstance(prompts, BasePromptTemplate | str):
        return templates.worded(_template("answer_with_references", prompts, _NAMES))
    given: object = prompts  # callers without a type checker may give anything
    if not isinstance(given, Mapping):
        raise _no_prompt(given)
    names = [each.name for each in fields(templates)]
    if unknown := sorted(set(prompts) - set(names)):
        raise InputError(f"no prompt is called {', '.join(unknown)}: there are {', '.join(names)}")
    made = {}
    for name, each in prompts.items():
        known = {own: own for own in placeholders_of(name)}
        if "history" in known:
            known["chat_history"] = "history"
        made[name] = _template(name, each, _NAMES | known)
    return replace(templates, **made)


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
        given = _values("the instructions", self.template.input_variables, values)
        prompt = self.template.format_prompt(**given)
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


def _template(name: str, prompt: BasePromptTemplate[Any] | str, names: dict[str, str]) -> Template:
    """A prompt as a template; `names` are those that this project fills, and as what."""
    with translated(InputError, f"the prompt {name}"):
        if isinstance(prompt, str):
            prompt = PromptTemplate.from_template(prompt)
    if not isinstance(prompt, BasePromptTemplate):
        raise _no_prompt(prompt)
    lists = _lists_of_messages(prompt)
    if told := sorted({*_TURNS} & {*prompt.input_variables} - {*lists} - {*names}):
        raise InputError(
            f"the prompt {name} names {{{'}, {'.join(told)}}} in its words: leave it out, as the "
            "earlier turns are sent before the question, or make it a MessagesPlaceholder"
        )
    write = partial(_written, name, names)
    # Before a run, a name stands in the place of each value, and of what a function would return.
    partials = {
        each: _Named(each) if callable(value) else value
        for each, value in prompt.partial_variables.items()
    }
    before = {each: [] if each in lists else _Named(each) for each in prompt.input_variables}
    known = write(prompt.model_copy(update={"partial_variables": partials}), before)
    return RunTemplate(*messages_of(known), partial(write, prompt))


def _written(
    name: str, names: Mapping[str, str], prompt: BasePromptTemplate[Any], values: Mapping[str, Any]
) -> Template:
    """A prompt with the values of a run; what this project fills is still a placeholder."""
    lists = _lists_of_messages(prompt)
    told: dict[str, Any] = {each: [] for each in (*_TURNS, "messages") if each in lists}
    filled = {each: f"{_MARK}{own}{_MARK}" for each, own in names.items()} | told
    own = [each for each in prompt.input_variables if each not in filled]
    given = _values("the prompts", own, values)
    given |= {each: filled[each] for each in prompt.input_variables if each in filled}
    optional = {*prompt.optional_variables} & values.keys() - told.keys()
    given |= {each: values[each] for each in optional}
    with translated(InputError, f"the prompt {name}", GraphBubbleUp):
        messages = prompt.format_prompt(**given).to_messages()
    return template_of([(_role(each), _format_of(each)) for each in messages])


class _Named(str):
    """The name of a variable in place of its value, in whatever format."""

    def __new__(cls, name: str) -> _Named:
        return super().__new__(cls, f"{{{name}}}")

    def __format__(self, spec: str) -> str:
        return str(self)


def _values(what: str, names: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    if missing := sorted(set(names) - values.keys()):
        raise InputError(
            f"{what} name {{{'}, {'.join(missing)}}}, which neither the run's configurable nor the "
            "input of a chain holds"
        )
    return {name: values[name] for name in names}


def _lists_of_messages(prompt: BasePromptTemplate[Any]) -> set[str]:
    parts = prompt.messages if isinstance(prompt, ChatPromptTemplate) else []
    return {each.variable_name for each in parts if isinstance(each, MessagesPlaceholder)}


def _format_of(message: BaseMessage) -> str:
    """The text of a message for `str.format`, with the placeholders that are marked in it."""
    blocks = [each for each in message.content if isinstance(each, dict)]
    if odd := sorted({str(each.get("type")) for each in blocks} - {"text"}):
        raise InputError(
            f"a prompt holds {', '.join(odd)}, and its words are text: give images with the "
            "question, in its message"
        )
    return re.sub(f"{_MARK}([a-z]+){_MARK}", r"{\1}", escaped(str(message.text)))


def _no_prompt(given: object) -> InputError:
    return InputError(
        f"a prompt is wanted, not {type(given).__name__}: give a prompt template of LangChain, a "
        "text, or a mapping of these by the names of PromptTemplates"
    )


def _role(message: BaseMessage) -> str:
    return _ROLES.get(message.type, message.type)
