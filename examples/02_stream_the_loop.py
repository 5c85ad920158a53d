"""Watch the loop: what is searched, what is found, what is missing, and the answer's tokens."""

from langchain_skr import create_skr_graph
from skr_core.prompts.templates import QUERY_LEAD, REFUSAL
from skr_core.testing import MappingRetriever, ScriptedModel
from skr_graphs import SKRContext

question = "Where was the designer of the lighthouse born?"
model = ScriptedModel(
    {
        "answer_with_references": [REFUSAL, "She was born in Port Elm [2]."],
        "self_complete": [f"{QUERY_LEAD}\n1. Where was Ada Quill born?"],
    }
)
retriever = MappingRetriever(
    {
        question: ["The lighthouse was designed by Ada Quill."],
        "Where was Ada Quill born?": ["Ada Quill was born in Port Elm."],
    }
)
graph = create_skr_graph(model, retriever)

eager = SKRContext(stream=True)  # ask the model for tokens as it makes them

for event in graph.stream({"question": question}, context=eager, stream_mode="custom"):
    if event["type"] == "query":
        print(f"search {event['round']}: {event['query']}")
    elif event["type"] == "references":
        print(f"  {len(event['added'])} new references")
    elif event["type"] == "reflection":
        print(f"  sufficient: {event['reflection']['sufficient']}")
    elif event["type"] == "token":
        print(event["text"], end="", flush=True)
print()
