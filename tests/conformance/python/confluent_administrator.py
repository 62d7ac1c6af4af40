"""Groups administered with confluent-kafka; `tests.conformance.clients` lists the commands."""

from collections.abc import Iterable

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.conformance.python.lines import options, serve


class Administrator:
    """Executes the commands."""

    def __init__(self, given: dict[str, str]) -> None:
        self._admin = AdminClient({"bootstrap.servers": given["bootstrap"]})

    def execute(self, command: list[str]) -> Iterable[object]:
        """Execute one."""
        match command:
            case ["list"]:
                return [each.group_id for each in self._admin.list_consumer_groups().result().valid]
            case ["state", group]:
                described = self._admin.describe_consumer_groups([group])[group].result()
                return [described.state.name.lower(), len(described.members)]
            case ["offsets", group]:
                asked = [ConsumerGroupTopicPartitions(group)]
                found = self._admin.list_consumer_group_offsets(asked)[group].result()
                return [f"{each.partition}:{each.offset}" for each in found.topic_partitions]
            case ["alter", group, topic, partition, offset]:
                position = TopicPartition(topic, int(partition), int(offset))
                altered = [ConsumerGroupTopicPartitions(group, [position])]
                done = self._admin.alter_consumer_group_offsets(altered)[group].result()
                assert done.topic_partitions[0].error is None, done.topic_partitions
            case ["delete", group]:
                self._admin.delete_consumer_groups([group])[group].result()
        return ()


if __name__ == "__main__":
    serve(Administrator(options()).execute)
