"""Groups administered with kafka-python; `tests.conformance.clients` lists the commands."""

from collections.abc import Iterable

from kafka import KafkaAdminClient, OffsetAndMetadata, TopicPartition
from kafka.errors import NoError

from tests.conformance.python.lines import options, serve


class Administrator:
    """Executes the commands."""

    def __init__(self, given: dict[str, str]) -> None:
        self._admin = KafkaAdminClient(bootstrap_servers=given["bootstrap"])

    def execute(self, command: list[str]) -> Iterable[object]:
        """Execute one."""
        match command:
            case ["list"]:
                return [each["group_id"] for each in self._admin.list_groups()]
            case ["state", group]:
                described = self._admin.describe_groups([group])[group]
                assert described["error"] is None, described
                return [described["group_state"].lower(), len(described["members"])]
            case ["offsets", group]:
                found = self._admin.list_group_offsets({group: None})[group]
                return [f"{each.partition}:{at.offset}" for each, at in found.items()]
            case ["alter", group, topic, partition, offset]:
                where = TopicPartition(topic, int(partition))
                position = OffsetAndMetadata(int(offset), "", -1)
                assert self._admin.alter_group_offsets(group, {where: position})[where] is NoError
            case ["forget", group, topic, partition]:
                where = TopicPartition(topic, int(partition))
                assert self._admin.delete_group_offsets(group, [where])[where] is NoError
            case ["delete", group]:
                return [self._admin.delete_groups([group])[group]]
        return ()


if __name__ == "__main__":
    serve(Administrator(options()).execute)
