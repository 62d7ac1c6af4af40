"""Asks the broker's own checks what they think of records. There is no other opinion here.

Produced records pass the checks that Produce makes before it looks at a log: those of the request,
then those of the validator. What needs a cluster is not asked: topics, leaders, permissions,
transactions and sequences. Where a broker has refused a request, its answers say what else there
was, and which partitions it took. Stored batches pass the checks of the readers of a log.

See: V-06 to V-09, V-20 to V-50, R-06, R-37.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

from broker_lite.errors import BrokerError, CorruptMessage, ErrorCode, Why
from broker_lite.handler.context import RefusedPartitions
from broker_lite.handler.produce.check import (
    OLDEST_OF_BATCHES,
    check_record_set,
    is_transactional,
    needs_transactional_id,
)
from broker_lite.handler.refusals import why_of
from broker_lite.log.validate.old_messages import (
    NothingToAppend,
    check_old_record_set,
    validate_old_records,
)
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.pipeline.read.measured import PLAIN_BYTES_MAX, Unsound, measure_batch
from broker_lite.record.batch import CURRENT_MAGIC, Entry, RecordBatch
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.legacy.messages import LegacyMessage, iterate_legacy
from broker_lite.wire.produce import ProduceRequest, Topics

_ALL_OFFSETS: Final = 1 << 62
DEFAULT_CONFIG: Final = ValidationConfig(topic="topic")
NOTHING_ANSWERED: Final[RefusedPartitions] = MappingProxyType({})


class Verdict(NamedTuple):
    """A refusal.

    Attributes:
        why: the broken rule and the facts.
        error: of a Produce; None if a reader of the log refuses, or if only a broker knows it.
        code: of the answer, if only a broker knows the error.
        config: of the topic, if it is not the judge's.
    """

    why: Why
    error: BrokerError | None = None
    code: ErrorCode | None = None
    config: ValidationConfig | None = None


class Judge(NamedTuple):
    """Who judges produced records.

    Attributes:
        config: of the topics.
        now_ms: the time of the append.
        answered: what a broker has refused, with the configs of these topics; empty if none was
            asked.
    """

    config: ValidationConfig
    now_ms: int
    answered: RefusedPartitions = NOTHING_ANSWERED

    def of(self, verdict: Verdict | None) -> "Judge":
        """Return the judge with the configs that a verdict was found by."""
        if verdict is None or verdict.config is None:
            return self
        return self._replace(config=verdict.config)

    def produced(self, records: memoryview | None, version: int) -> Verdict | None:
        """Check records as those of the only partition of a Produce request.

        Args:
            records: nothing is written to them.
            version: of the request.
        """
        try:
            is_transactional([("", None, [(0, records)])])
        except BrokerError as error:
            return _verdict(error, "V-06")
        return self._partition(records, version)

    def request(self, produce: ProduceRequest, version: int) -> dict[tuple[int, int], Verdict]:
        """Check all records of a Produce request.

        Returns:
            The refusals by the places of the topic and the partition in the request. That of a
            whole request is at the partition that causes it.
        """
        found = self._whole_request(produce)
        if found is not None and self._is_answered_by(found[1]):
            return dict([found])
        refused = {}
        for topic, (name, topic_id, partitions) in enumerate(produce.topics):
            for place, (index, records) in enumerate(partitions):
                if self.answered:
                    verdict = self._answered(name or topic_id or "", index, records, version)
                else:
                    verdict = self._partition(records, version)
                if verdict is not None:
                    refused[topic, place] = verdict
        return refused

    def _is_answered_by(self, verdict: Verdict) -> bool:
        """Whether it is what a broker has answered, if one was asked."""
        codes = {each.code for each in self.answered.values()}
        return not codes or (verdict.error is not None and verdict.error.code in codes)

    def _answered(
        self, topic: str | bytes, index: int, records: memoryview | None, version: int
    ) -> Verdict | None:
        """Find what a broker has refused in a partition; if that cannot be, tell what it said.

        The broker has stamped what it took, and a partition whose producer it fenced may be wrong
        in another way, too: another error is not the one that it found.
        """
        told = self.answered.get((topic, index))
        if told is None:
            return None
        judge = self if told.config is None else self._replace(config=told.config)
        verdict = judge._partition(records, version)
        if verdict is None or verdict.error is None or verdict.error.code != told.code:
            verdict = Verdict(told.why, None, told.code)
        elif verdict.why.rule == told.why.rule:
            verdict = verdict._replace(why=told.why)  # with the times of the broker's clock
        return verdict._replace(config=told.config)

    def _whole_request(self, produce: ProduceRequest) -> tuple[tuple[int, int], Verdict] | None:
        """See: V-06, V-07."""
        for topic, (name, topic_id, partitions) in enumerate(produce.topics):
            for place, partition in enumerate(partitions):
                one: Topics = [(name, topic_id, [partition])]
                try:
                    if is_transactional(one):
                        if produce.transactional_id is not None:
                            return None
                        return (topic, place), _verdict(needs_transactional_id(), "V-07")
                except BrokerError as error:
                    return (topic, place), _verdict(error, "V-06")
        return None

    def _partition(self, records: memoryview | None, version: int) -> Verdict | None:
        is_old = version < OLDEST_OF_BATCHES
        try:
            if is_old:
                for _ in check_old_record_set(records):
                    pass
            else:
                check_record_set(records, version)
            writable = memoryview(bytearray(records or b""))
            validate = validate_old_records if is_old else validate_records
            validate(writable, self.config, now_ms=self.now_ms)
        except NothingToAppend:
            return None
        except BrokerError as error:
            return _verdict(error, "V-13")
        return None


def stored(data: memoryview, entry: Entry) -> Verdict | None:
    """Check a batch or message as the readers of a log do.

    See: R-06, R-37.
    """
    position, size_bytes, magic = entry
    try:
        if magic == CURRENT_MAGIC:
            batch = RecordBatch(data, position, size_bytes)
            batch.ensure_valid()
            measure_batch(batch, 0, _ALL_OFFSETS)
        else:
            message = LegacyMessage(data, position, size_bytes)
            _check_crc(message)
            for _ in iterate_legacy(message, check_crc=True, bounds=Bounds(PLAIN_BYTES_MAX)):
                pass
    except Unsound as unsound:
        return _unsound(unsound.rule, unsound.text)
    except CorruptMessage as error:
        return _unsound("R-06", str(error))
    except BrokerError as error:
        return _unsound("R-68", str(error))
    return None


def _unsound(rule: str, text: str) -> Verdict:
    return Verdict(Why(rule, "{text}", {"text": text}))


def _check_crc(message: LegacyMessage) -> None:
    if not message.crc_is_valid():
        raise CorruptMessage("the checksum is wrong")


def _verdict(error: BrokerError, rule: str) -> Verdict:
    return Verdict(why_of(error, rule), error)


def error_name(verdict: Verdict) -> tuple[str | None, int | None]:
    """Return the name and the number of the error that a producer is answered."""
    known = verdict.code if verdict.error is None else verdict.error.code
    if known is None:
        return None, None
    code = ErrorCode(known)
    return code.name, int(code)
