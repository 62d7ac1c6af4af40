"""Explains bytes field by field: frames, record batches and old message sets.

Whether they are valid is decided by the broker's own checks; the field that these refuse is marked.
Nothing here does any I/O.
"""

from broker_lite.explain.batches import explain_batch
from broker_lite.explain.explanation import (
    CannotExplain,
    Explanation,
    Field,
    Limits,
    Part,
    Refused,
    State,
)
from broker_lite.explain.frames import explain_frame

__all__ = [
    "CannotExplain",
    "Explanation",
    "Field",
    "Limits",
    "Part",
    "Refused",
    "State",
    "explain_batch",
    "explain_frame",
]
