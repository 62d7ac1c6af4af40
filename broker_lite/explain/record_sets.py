"""Lists record sets, and marks the field that the broker refuses."""

from collections.abc import Mapping
from itertools import chain
from typing import Final

from broker_lite.errors import BrokerError
from broker_lite.explain.batch_walk import SetWalk, walk_entry, walk_set
from broker_lite.explain.explanation import Explanation, Field, Part, Refused, State
from broker_lite.explain.judging import Judge, Verdict, stored
from broker_lite.explain.listing import Reader, not_read, refuse
from broker_lite.explain.places import Scene, record_of, refused_of
from broker_lite.pipeline.read.measured import PLAIN_BYTES_MAX
from broker_lite.record.batch import CURRENT_MAGIC, Entry, walk

_STORED: Final[Mapping[str, str]] = {
    "R-06": "crc",
    "R-75": "attributes",
    "R-82": "records",
    "R-84": "records",
}
"""The fields of the rules that name one; that of the others is the one that cannot be read."""
_FRAMING: Final = "R-03"
_INCOMPLETE: Final = "the last batch is not complete"


def list_produced(
    reader: Reader,
    end: int,
    prefix: str,
    judge: Judge,
    verdict: Verdict | None,
    explanation: Explanation,
) -> Refused | None:
    """List a record set that a producer sends.

    Args:
        reader: at its first byte; gets the fields.
        end: position after the set.
        prefix: of the paths.
        judge: who judged it.
        verdict: the refusal.
        explanation: gets the parts.

    Returns:
        The refusal with the path of its field.
    """
    config = judge.config
    record = None if verdict is None else record_of(verdict)
    how = SetWalk(prefix, config.decompressed_bytes_max, config.codec, record=record)
    start = reader.position
    inner = _inner(reader, end)
    parts: list[Part] = []
    walk_set(inner, how, parts)
    refused = None
    if verdict is not None:
        fields = {each.path: each for each in _all_fields(inner.fields, parts)}
        scene = Scene(reader.data[start:end], prefix, judge, fields)
        refused = mark(inner.fields, parts, refused_of(verdict, scene))
    _take_over(reader, inner, parts, explanation)
    return refused


def list_stored(reader: Reader, end: int, prefix: str, explanation: Explanation) -> None:
    """List batches of a log, as a segment or a Fetch response has them.

    Args:
        reader: at the first byte; gets the fields.
        end: position after the last one.
        prefix: of the paths.
        explanation: gets the parts and the refusals.
    """
    how = SetWalk(prefix, PLAIN_BYTES_MAX, is_stored=True)
    index = 0
    fault: BrokerError | None = None
    is_full = False
    try:
        for entry in walk(reader.data[:end], reader.position):
            if is_full := reader.budget.fields_left <= 0:
                break
            _list_one(reader, entry, index, how, explanation)
            index += 1
    except BrokerError as error:
        fault = error
    if reader.position >= end:
        return
    inner = _inner(reader, end)
    parts: list[Part] = []
    walk_entry(inner, how, index, parts)
    inner.rest(f"{prefix}rest", "what comes after the entry that cannot be read")
    if fault is not None:
        refused = Refused(None, None, _FRAMING, str(fault))
        explanation.refusals.append(mark(inner.fields, parts, refused))
    elif not is_full and _INCOMPLETE not in explanation.notes:
        explanation.notes.append(_INCOMPLETE)
    _take_over(reader, inner, parts, explanation)


def _list_one(
    reader: Reader, entry: Entry, index: int, how: SetWalk, explanation: Explanation
) -> None:
    verdict = stored(reader.data, entry)
    inner = _inner(reader, entry.position + entry.size_bytes)
    parts: list[Part] = []
    walk_entry(inner, how, index, parts)
    if verdict is not None:
        kind = "batches" if entry.magic == CURRENT_MAGIC else "messages"
        name = _STORED.get(verdict.why.rule)
        path = None if name is None else f"{how.prefix}{kind}[{index}].{name}"
        refused = Refused(None, None, verdict.why.rule, str(verdict.why), path)
        explanation.refusals.append(mark(inner.fields, parts, refused))
    _take_over(reader, inner, parts, explanation)


def mark(fields: list[Field], parts: list[Part], refused: Refused) -> Refused:
    """Mark the refused field, in the set or in its decompressed parts.

    Returns:
        The refusal with the path of the field, as far as it is known.
    """
    found = refuse(fields, refused)
    if found is not None:
        if not any(part.of == found.path for part in parts):
            for part in parts:
                not_read(part.fields)
        return found
    for part in parts:
        found = refuse(part.fields, refused)
        if found is not None:
            return found
    if any(each.state is State.NOT_LISTED for each in _all_fields(fields, parts)):
        return refused
    return refused._replace(path=None)


def _inner(reader: Reader, end: int) -> Reader:
    return Reader(reader.data, reader.budget, shift=reader.shift, start=reader.position, end=end)


def _take_over(reader: Reader, inner: Reader, parts: list[Part], explanation: Explanation) -> None:
    reader.fields += inner.fields
    reader.position = inner.position
    explanation.parts += parts


def _all_fields(fields: list[Field], parts: list[Part]) -> chain[Field]:
    return chain(fields, *(part.fields for part in parts))
