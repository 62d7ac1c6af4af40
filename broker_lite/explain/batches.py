"""Explains record batches and message sets by themselves, as a producer sends or a log has them."""

import time
from typing import Final

from broker_lite.explain.explanation import CannotExplain, Explanation, Limits
from broker_lite.explain.judging import DEFAULT_CONFIG, Judge
from broker_lite.explain.listing import Budget, Reader
from broker_lite.explain.record_sets import list_produced, list_stored
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.record.batch import CURRENT_MAGIC, HEADER_SIZE_UP_TO_MAGIC, MAGIC_OFFSET
from broker_lite.wire.produce import VERSION_MAX, VERSION_MIN

NO_LIMITS: Final = Limits()
_BASE_OFFSET_BYTES: Final = 8
Bytes = bytes | bytearray | memoryview


def explain_batch(
    data: Bytes,
    config: ValidationConfig | None = None,
    *,
    stored: bool = False,
    at_offset_0: bool = False,
    position: int = 0,
    now_ms: int | None = None,
    limits: Limits = NO_LIMITS,
) -> Explanation:
    """Explain a record batch, or a message set of magic 0 or 1.

    Args:
        data: the bytes.
        config: of the topic that it is sent to; that of a topic without configs unless given.
        stored: the bytes are of a log: judge them as its readers do, not as a producer's.
        at_offset_0: judge a producer's batch as if its base offset were 0, for bytes of a log.
        position: of the first byte in its file; offsets are told from the start of the file.
        now_ms: the time of the append; that of the clock unless given.
        limits: how much is told.

    Raises:
        CannotExplain: there are no bytes.
    """
    if not data:
        raise CannotExplain("there are no bytes")
    view = memoryview(bytes(data))
    explanation = Explanation("segment" if stored else "batch")
    reader = Reader(view, Budget(limits), shift=position)
    if stored:
        list_stored(reader, len(view), "", explanation)
    else:
        judge = judge_of(config, now_ms)
        judged = view
        if at_offset_0:
            zeros = bytes(min(_BASE_OFFSET_BYTES, len(view)))
            judged = memoryview(zeros + view[len(zeros) :])
            explanation.notes.append("judged as if a producer sent it, with the base offset 0")
        verdict = judge.produced(judged, _version_for(view))
        refused = list_produced(reader, len(view), "", judge, verdict, explanation)
        if refused is not None:
            explanation.refusals.append(refused)
    explanation.fields = reader.fields
    tell_limit(explanation, reader.budget)
    return explanation


def judge_of(config: ValidationConfig | None, now_ms: int | None) -> Judge:
    """Return the judge of produced records."""
    if now_ms is None:
        now_ms = time.time_ns() // 1_000_000
    return Judge(DEFAULT_CONFIG if config is None else config, now_ms)


def tell_limit(explanation: Explanation, budget: Budget) -> None:
    """Add a note if the list is full."""
    if budget.fields_left <= 0:
        explanation.notes.append("the list is full; ask for more fields to see the rest")


def _version_for(view: memoryview) -> int:
    """Return the version of the Produce request that carries such a set."""
    is_old = len(view) >= HEADER_SIZE_UP_TO_MAGIC and view[MAGIC_OFFSET] < CURRENT_MAGIC
    return VERSION_MIN + 2 if is_old else VERSION_MAX
