"""Whether the state of groups and transactional ids can be read: somebody has to lead its log.

While nobody does, the coordinator has nothing of them in memory. They are not gone: they are there
again when a broker that has the log comes back.
"""

from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.control.metadata.topic import NO_LEADER
from broker_lite.errors import NotCoordinator


def check_coordinated(topic: StateTopic, entity_id: str) -> None:
    """Check that a broker coordinates a group or a transactional id, if the topic exists.

    Raises:
        NotCoordinator: none does; the text names the partition.
    """
    partition = topic.partition_of(entity_id)
    if topic.exists and topic.leader(partition) == NO_LEADER:
        raise NotCoordinator(
            f"{entity_id!r} cannot be read: nobody leads {topic.name}-{partition}, where it is"
        )


def check_all_coordinated(topic: StateTopic) -> None:
    """Check that all groups or transactional ids are coordinated, if the topic exists.

    Raises:
        NotCoordinator: some are not; the text counts the partitions.
    """
    lacking = sum(topic.leader(each) == NO_LEADER for each in range(topic.partition_count))
    if topic.exists and lacking:
        raise NotCoordinator(
            f"nobody leads {lacking} partitions of {topic.name}, so what is in them cannot be read"
        )
