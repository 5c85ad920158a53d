"""Back to an earlier round with another query: what came before it is not run again."""

from langgraph.checkpoint.memory import InMemorySaver

from langchain_skr import create_skr_graph
from skr_core.prompts.templates import QUERY_LEAD, REFUSAL
from skr_core.testing import MappingRetriever, ScriptedModel

question = "Where was the designer of the lighthouse born?"
model = ScriptedModel(
    {
        "answer_with_references": [REFUSAL, REFUSAL, "She was born in Port Elm [2]."],
        "self_complete": [f"{QUERY_LEAD}\n1. birthplaces of designers"],
        "answer_anyway": ["I cannot say."],
    }
)
retriever = MappingRetriever(
    {
        question: ["The lighthouse was designed by Ada Quill."],
        "birthplaces of designers": ["Designers are born everywhere."],
        "Ada Quill's birthplace": ["Ada Quill was born in Port Elm."],
    }
)
graph = create_skr_graph(model, retriever, checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "1"}}
print("first:", graph.invoke({"question": question}, thread)["answer"])

earlier = [state for state in graph.get_state_history(thread) if state.next == ("follow_up",)][-1]
edited = graph.update_state(
    earlier.config, {"queries": ["Ada Quill's birthplace"]}, as_node="follow_up"
)
calls = len(model.prompts)
print("again:", graph.invoke(None, edited)["answer"])
print("calls of the model:", len(model.prompts) - calls)
