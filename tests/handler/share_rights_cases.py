"""The cases of rights_cases for the APIs of share and streams groups."""

from typing import Any

from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages
from tests.handler.rights_cases import GROUP, Case, fields, on_group, on_topic
from tests.support.acls import acl
from tests.support.handler_broker import HandlerBroker


def share_fetch(broker: HandlerBroker) -> dict[str, Any]:
    types = messages.ShareFetchRequest
    topic = types.FetchTopic(
        topic_id=broker.cluster.topics["t"].topic_id,
        partitions=[types.FetchPartition(partition_index=0)],
    )
    return {"group_id": "g", "member_id": "m", "max_records": 1, "topics": [topic]}


def new_offsets(_: HandlerBroker) -> dict[str, Any]:
    types = messages.AlterShareGroupOffsetsRequest
    partition = types.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    topic = types.AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=[partition])
    return {"group_id": "new", "topics": [topic]}


_STREAMS = messages.StreamsGroupHeartbeatRequest
NEW = acl(Operation.READ, ResourceType.GROUP, "new")
SHARE_CASES = {
    76: Case(
        1,
        fields(group_id="new", member_id="m", subscribed_topic_names=["t"]),
        (NEW, on_topic(Operation.DESCRIBE)),
        GROUP,
    ),
    77: Case(1, fields(group_ids=["g"]), (on_group(Operation.DESCRIBE),), GROUP),
    78: Case(2, share_fetch, (on_group(Operation.READ), on_topic(Operation.READ)), GROUP),
    79: Case(
        2,
        fields(group_id="g", member_id="m", share_session_epoch=1),
        (on_group(Operation.READ),),
        GROUP,
    ),
    88: Case(
        0,
        fields(
            group_id="new",
            member_id="m",
            rebalance_timeout_ms=1000,
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
            topology=_STREAMS.Topology(
                epoch=0,
                subtopologies=[_STREAMS.Subtopology(subtopology_id="0", source_topics=["t"])],
            ),
        ),
        (NEW, on_topic(Operation.DESCRIBE)),
        GROUP,
    ),
    89: Case(0, fields(group_ids=["g"]), (on_group(Operation.DESCRIBE),), GROUP),
    90: Case(
        1,
        fields(
            groups=[
                messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(
                    group_id="g", topics=None
                )
            ]
        ),
        (on_group(Operation.DESCRIBE),),
        GROUP,
    ),
    91: Case(0, new_offsets, (NEW, on_topic(Operation.READ)), GROUP),
    92: Case(0, fields(group_id="g"), (on_group(Operation.DELETE),), GROUP),
}
