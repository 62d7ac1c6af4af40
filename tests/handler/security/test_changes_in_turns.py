"""Many independent changes of the metadata: in order, and each told by itself when it fails."""

import asyncio

from broker_lite.control.cluster.metadata_changes import quota_changes
from broker_lite.control.users.quota_rules import Entity
from broker_lite.errors import KafkaStorageError
from broker_lite.handler.security.changes_in_turns import CHANGES_AT_A_TIME, write_in_turns
from tests.support.handler_broker import HandlerBroker
from tests.support.small_disk import files_end_at


def test_they_are_written_some_at_a_time(broker: HandlerBroker) -> None:
    count = 2 * CHANGES_AT_A_TIME + 1
    entities: list[Entity] = [(("user", f"u{number:04}"),) for number in range(count)]
    changes: dict[Entity, dict[str, float | None]] = {
        entity: {"request_percentage": 1.0} for entity in entities
    }
    changes[entities[3]] = {}
    assert asyncio.run(write_in_turns(broker.cluster, changes, quota_changes)) == {}
    assert list(broker.cluster.client_quotas) == [*entities[:3], *entities[4:]]
    log = broker.cluster.logs.data_dir / "__cluster_metadata-0" / f"{0:020d}.log"
    with files_end_at(log.stat().st_size):
        failed = asyncio.run(write_in_turns(broker.cluster, changes, quota_changes))
    assert list(failed) == entities
    assert {type(error) for error in failed.values()} == {KafkaStorageError}
