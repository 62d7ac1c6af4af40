"""Transaction steps made into requests, with what one broker told the sequence."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from broker_lite.wire import messages
from tests.differential.batches import BatchSpec, RecordSpec
from tests.differential.coordinator_memory import GHOST_PRODUCER_ID, Memory
from tests.differential.coordinator_sequence import Step
from tests.differential.group_requests import (
    Build,
    committed_topics,
    known_generation,
    topic_key,
)

TRANSACTIONAL: Final = 16
SEQUENCE_LIMIT: Final = 1 << 31


def _transactional_id(step: Step, memory: Memory) -> str | None:
    name = step.args["id"]
    return memory.own(name) if name else name


def _producer(step: Step, memory: Memory) -> dict[str, Any]:
    """The producer id and epoch that a step sends."""
    known = memory.producers[step.slot]
    raw = GHOST_PRODUCER_ID if step.args.get("ghost") else known.producer_id
    epoch = min(max(known.epoch + step.args["epoch"], -1), 32767)
    return {"producer_id": raw, "producer_epoch": epoch}


def _init(step: Step, memory: Memory) -> Any:
    fields: dict[str, Any] = {}
    if step.version >= 3 and step.args["recover"] is not None:
        fields = _producer(step, memory)
        if step.args["recover"] == "no id":
            fields["producer_id"] = -1
        elif step.args["recover"] == "no epoch":
            fields["producer_epoch"] = -1
    return messages.InitProducerIdRequest(
        transactional_id=_transactional_id(step, memory),
        transaction_timeout_ms=step.args["timeout_ms"],
        **fields,
    )


def _add_partitions(step: Step, memory: Memory) -> Any:
    kind = messages.AddPartitionsToTxnRequest
    topics = [
        kind.AddPartitionsToTxnTopic(name=memory.topic(name), partitions=list(partitions))
        for name, partitions in step.args["topics"]
    ]
    producer = _producer(step, memory)
    if step.version < 4:
        return kind(
            v3_and_below_transactional_id=_transactional_id(step, memory),
            v3_and_below_producer_id=producer["producer_id"],
            v3_and_below_producer_epoch=producer["producer_epoch"],
            v3_and_below_topics=topics,
        )
    transaction = kind.AddPartitionsToTxnTransaction(
        transactional_id=_transactional_id(step, memory),
        **producer,
        verify_only=step.args["verify"],
        topics=topics,
    )
    return kind(transactions=[transaction])


def _add_offsets(step: Step, memory: Memory) -> Any:
    return messages.AddOffsetsToTxnRequest(
        transactional_id=_transactional_id(step, memory),
        group_id=memory.own(step.args["group"]),
        **_producer(step, memory),
    )


def _commit_offsets(step: Step, memory: Memory) -> Any:
    kind = messages.TxnOffsetCommitRequest
    fields: dict[str, Any] = {}
    if step.version >= 3:
        # the group's member is the one of the slot that the step names
        as_member = replace(step, slot=step.args["member"])
        fields = {
            "member_id": memory.member_id(as_member, step.args["who"]),
            "generation_id_or_member_epoch": known_generation(as_member, memory),
            "group_instance_id": step.args["instance"],
        }
    return kind(
        transactional_id=_transactional_id(step, memory),
        group_id=memory.own(step.args["group"]),
        **_producer(step, memory),
        topics=committed_topics(
            kind.TxnOffsetCommitRequestTopic,
            kind.TxnOffsetCommitRequestPartition,
            step,
            memory,
            6,
            2,
        ),
        **fields,
    )


def _end(step: Step, memory: Memory) -> Any:
    return messages.EndTxnRequest(
        transactional_id=_transactional_id(step, memory),
        committed=step.args["commit"],
        **_producer(step, memory),
    )


def _produce(step: Step, memory: Memory) -> Any:
    args, kind = step.args, messages.ProduceRequest
    producer = _producer(step, memory)
    known = memory.producers[step.slot].sequences.get((args["topic"], args["partition"]), 0)
    records = tuple(
        RecordSpec(offset_delta=index, value=b"%s %d" % (args["value"].encode(), index))
        for index in range(args["count"])
    )
    batch = BatchSpec(
        records=records,
        attributes=TRANSACTIONAL if args["transactional"] else 0,
        base_timestamp=time.time_ns() // 1_000_000,
        base_sequence=(known + args["sequence"]) % SEQUENCE_LIMIT,
        **producer,
    )
    partition = kind.PartitionProduceData(index=args["partition"], records=batch.encode())
    topic = kind.TopicProduceData(
        **topic_key(args["topic"], step, memory, 13), partition_data=[partition]
    )
    return kind(
        transactional_id=_transactional_id(step, memory),
        acks=args["acks"],
        timeout_ms=10_000,
        topic_data=[topic],
    )


def _markers(step: Step, memory: Memory) -> Any:
    args, kind = step.args, messages.WriteTxnMarkersRequest
    topic = kind.WritableTxnMarkerTopic(
        name=memory.topic(args["topic"]), partition_indexes=list(args["partitions"])
    )
    fields = {"transaction_version": args["flow"]} if step.version >= 2 else {}
    # Kafka fails on negative ones, and answers -1
    producer = {name: max(value, 0) for name, value in _producer(step, memory).items()}
    marker = kind.WritableTxnMarker(
        **producer,
        transaction_result=args["commit"],
        topics=[topic],
        coordinator_epoch=args["coordinator_epoch"],
        **fields,
    )
    return kind(markers=[marker])


def _list(step: Step, memory: Memory) -> Any:
    fields: dict[str, Any] = {}
    if step.version >= 1:
        fields["duration_filter"] = step.args["duration"]
    if step.version >= 2:
        # the tag is of letters, digits and - only
        fields["transactional_id_pattern"] = memory.own(step.args["pattern"])
    return messages.ListTransactionsRequest(state_filters=list(step.args["states"]), **fields)


def _describe_producers(step: Step, memory: Memory) -> Any:
    kind = messages.DescribeProducersRequest
    topic = kind.TopicRequest(name=memory.topic(step.args["topic"]), partition_indexes=[0, 1])
    return kind(topics=[topic])


TRANSACTION_REQUESTS: Final[Mapping[str, Build]] = {
    "InitProducerId": _init,
    "AddPartitionsToTxn": _add_partitions,
    "AddOffsetsToTxn": _add_offsets,
    "TxnOffsetCommit": _commit_offsets,
    "EndTxn": _end,
    "Produce": _produce,
    "WriteTxnMarkers": _markers,
    "DescribeTransactions": lambda step, memory: messages.DescribeTransactionsRequest(
        transactional_ids=[memory.own(name) for name in step.args["ids"]]
    ),
    "ListTransactions": _list,
    "DescribeProducers": _describe_producers,
}
