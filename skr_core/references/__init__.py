"""References: found and fused, shown in a prompt, and cited in an answer.

| module | what it is about |
|---|---|
| `found` | what retrievers bring, checked, and other frameworks' documents as references |
| `fusion` | rankings of several queries, rounds and retrievers made one |
| `passages` | references as a prompt shows them: fenced, and as many as fit |
| `markers` | what numbers in brackets mean |
| `resolver` | an answer's markers, read as it arrives |
| `citations` | from markers to references, with quotes and a list of sources |
| `storable` | references as a store keeps them |
"""

from skr_core.references.citations import (
    LONGEST_QUOTE,
    NO_QUOTE,
    UNCITED,
    UNSUPPORTED,
    CitedText,
    QuoteFinder,
    by_document,
    document_of,
    free_numbers,
    last_number,
    number_sources,
    place_of,
    quotes_of,
    resolve_citations,
    shown_sources,
    strip_markers,
    text_with_sources,
    without_markers,
)
from skr_core.references.found import (
    FoundReferences,
    checked_references,
    encodable_reference,
    errors_of,
    finite_score,
    foreign_reference,
    plain_values,
)
from skr_core.references.fusion import (
    FusedRetriever,
    best_copies,
    joined,
    merge_rankings,
    places,
    reciprocal_rank_fusion,
    with_copy,
)
from skr_core.references.markers import Marker, read_marker
from skr_core.references.passages import (
    FENCE,
    PackedReferences,
    fast_tokens,
    fence_for,
    fence_references,
    one_line,
    pack_references,
    shown_text,
)
from skr_core.references.resolver import MarkerResolver

__all__ = [
    "FENCE",
    "LONGEST_QUOTE",
    "NO_QUOTE",
    "UNCITED",
    "UNSUPPORTED",
    "CitedText",
    "FoundReferences",
    "FusedRetriever",
    "Marker",
    "MarkerResolver",
    "PackedReferences",
    "QuoteFinder",
    "best_copies",
    "by_document",
    "checked_references",
    "document_of",
    "encodable_reference",
    "errors_of",
    "fast_tokens",
    "fence_for",
    "fence_references",
    "finite_score",
    "foreign_reference",
    "free_numbers",
    "joined",
    "last_number",
    "merge_rankings",
    "number_sources",
    "one_line",
    "pack_references",
    "place_of",
    "places",
    "plain_values",
    "quotes_of",
    "read_marker",
    "reciprocal_rank_fusion",
    "resolve_citations",
    "shown_sources",
    "shown_text",
    "strip_markers",
    "text_with_sources",
    "with_copy",
    "without_markers",
]
