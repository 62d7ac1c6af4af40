"""Steps of the controller on an image: what is written, and what the image makes of it."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.control.cluster.controller import Controller, Moved
from broker_lite.control.cluster.elections import Election
from broker_lite.control.cluster.features import supported_features
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.brokers import Endpoint
from broker_lite.control.metadata.metadata_records import (
    MetadataChange,
    decode,
    encode_change,
)
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration, Topic
from broker_lite.control.topics.topic_configs import TopicConfigs
from broker_lite.errors import KafkaStorageError
from broker_lite.settings import Settings
from tests.control.registered import broker, directory, image_of_brokers

ELR = "eligible.leader.replicas.version"
LEVEL = 30


class World:
    """An image with a controller, which writes into a list instead of a log."""

    def __init__(
        self,
        *partitions: PartitionRegistration,
        brokers: Sequence[Any] = (1, 2, 3),
        tracks_eligible: bool = True,
        **configs: str,
    ) -> None:
        self.image = image_of_brokers(*brokers)
        self.written: list[Any] = []
        self.moved: list[Moved] = []
        self.is_failing = False
        self._configs = TopicConfigs(Settings())
        self.controller = Controller(
            image=self.image,
            write=self.write,
            end_offset=lambda: 100 + len(self.written),
            topic_config=lambda topic: self._configs.of(topic),
        )
        self.controller.moved = self.moved.extend
        texts = {name.replace("_", "."): text for name, text in configs.items()}
        if tracks_eligible:
            self.image.features[ELR] = 1
        if partitions:
            self.image.topics["t"] = self.image.topics_by_id[b"i" * 16] = Topic(
                name="t", topic_id=b"i" * 16, partitions=partitions, overrides=texts
            )

    def write(self, records: Sequence[MetadataChange]) -> None:
        if self.is_failing:
            raise KafkaStorageError
        values = [decode(value) for change in records for value in encode_change(change, LEVEL)]
        self.image.apply(values)
        self.written += values

    def written_kinds(self) -> list[int]:
        return [record.api_key for record in self.written]

    @property
    def partitions(self) -> tuple[PartitionRegistration, ...]:
        return self.image.topics["t"].partitions


def led_by(leader: int, *isr: int, **fields: Any) -> PartitionRegistration:
    return PartitionRegistration(
        leader, leader_epoch=4, replicas=(1, 2, 3), isr=isr, partition_epoch=6
    )._replace(**fields)


def register(world: World, node_id: int, rack: str | None = None) -> None:
    world.controller.register(
        node_id,
        directory(node_id),
        incarnation_id=b"j" * 16,
        endpoints=[Endpoint("PLAINTEXT", "h", 9090 + node_id)],
        rack=rack,
        supported=supported_features("4.3"),
    )


# -- a broker comes


def test_c20_a_broker_that_registers_is_let_in() -> None:
    world = World(brokers=())
    register(world, 3, "r")
    assert world.written_kinds() == [kinds.REGISTER_BROKER, kinds.BROKER_REGISTRATION_CHANGE]
    register_record, let_in = (record.value for record in world.written)
    assert (register_record.fenced, register_record.broker_epoch) == (True, 100)
    assert (let_in.fenced, let_in.broker_epoch) == (-1, 100)
    one = world.image.brokers.by_id[3]
    assert one.is_active
    assert (one.epoch, one.rack, one.endpoints) == (100, "r", (Endpoint("PLAINTEXT", "h", 9093),))
    assert world.moved == []


def test_c20_a_broker_that_is_let_in_leads_what_has_no_leader() -> None:
    none = led_by(NO_LEADER, eligible=(3,), last_leader=(3,))
    world = World(
        none,
        led_by(1, 1, 2),
        none._replace(eligible=(2,)),
        brokers=(1, 2, broker(3, is_fenced=True)),
    )
    world.controller.unfence(3)
    assert (
        world.written_kinds() == [kinds.BROKER_REGISTRATION_CHANGE] + [kinds.PARTITION_CHANGE] * 2
    )
    # The third one had somebody who could lead all the time; Kafka looks at all that have none.
    assert [one.leader for one in world.partitions] == [3, 1, 2]
    assert [one.partition for one in world.moved] == [0, 2]
    assert world.partitions[0] == led_by(3, 3, leader_epoch=5, partition_epoch=7)


def test_c20_a_broker_that_is_let_in_takes_nothing_from_others() -> None:
    before = (led_by(1, 1, 2, 3), led_by(2, 1, 2))
    world = World(*before, brokers=(1, 2, broker(3, is_fenced=True)))
    world.controller.unfence(3)
    assert world.partitions == before
    assert world.moved == []


def test_c20_a_broker_that_registers_again_keeps_what_it_leads() -> None:
    world = World(led_by(1, 1, 2))
    register(world, 1)
    assert world.partitions == (led_by(1, 1, 2),)
    assert world.image.broker_epoch(1) == 100


def test_c20_who_is_let_in_twice_is_not_written_twice() -> None:
    world = World()
    world.controller.unfence(3)
    assert world.written == []


# -- a broker goes


def test_c21_others_take_over_what_a_fenced_broker_leads() -> None:
    world = World(led_by(1, 1, 2, 3), led_by(2, 1, 2), led_by(3, 2, 3))
    world.controller.fence(1)
    assert world.partitions == (
        led_by(2, 2, 3, leader_epoch=5, partition_epoch=7),
        led_by(2, 2, partition_epoch=7),
        led_by(3, 2, 3),
    )
    # The fence is the last record, as Kafka writes it.
    assert world.written_kinds() == [kinds.PARTITION_CHANGE] * 2 + [
        kinds.BROKER_REGISTRATION_CHANGE
    ]
    assert world.image.brokers.by_id[1].is_fenced
    assert [(one.partition, one.before.leader, one.after.leader) for one in world.moved] == [
        (0, 1, 2),
        (1, 2, 2),
    ]


def test_c21_a_fence_chooses_nobody_who_is_fenced_or_stopping() -> None:
    brokers = (1, broker(2, is_stopping=True), broker(3, is_fenced=True))
    world = World(led_by(1, 1, 2, 3), brokers=brokers)
    world.controller.fence(1)
    assert (world.partitions[0].leader, world.partitions[0].isr) == (NO_LEADER, (2, 3))


def test_c21_a_second_fence_writes_only_what_is_left() -> None:
    world = World(led_by(1, 1, 2), brokers=(broker(1, is_fenced=True), 2, 3))
    world.controller.fence(1)
    assert world.written_kinds() == [kinds.PARTITION_CHANGE]
    world.controller.fence(1)
    assert world.written_kinds() == [kinds.PARTITION_CHANGE]


def test_c22_a_broker_that_stops_hands_over_and_is_still_seen() -> None:
    world = World(led_by(1, 1, 2, 3), led_by(1, 1))
    world.controller.shut_down(1)
    assert (
        world.written_kinds() == [kinds.BROKER_REGISTRATION_CHANGE] + [kinds.PARTITION_CHANGE] * 2
    )
    assert world.written[0].value.in_controlled_shutdown == 1
    assert world.partitions[0] == led_by(2, 2, 3, leader_epoch=5, partition_epoch=7)
    # Nobody can take over the second one: it waits for the broker among the eligible ones.
    assert world.partitions[1] == led_by(
        NO_LEADER, leader_epoch=5, partition_epoch=7, eligible=(1,), last_leader=(1,)
    )
    assert [one.node_id for one in world.image.brokers.alive()] == [1, 2, 3]
    world.controller.shut_down(1)
    assert len(world.written) == 3


def test_c22_without_eligible_leaders_the_last_one_in_sync_stays_in_the_isr() -> None:
    world = World(led_by(1, 1), tracks_eligible=False)
    world.controller.shut_down(1)
    assert world.partitions[0] == led_by(NO_LEADER, 1, leader_epoch=5, partition_epoch=7)


def test_c23_a_broker_that_leaves_for_good() -> None:
    world = World(led_by(1, 1, 2), led_by(2, 2, 3))
    world.controller.unregister(1)
    assert world.written_kinds() == [kinds.PARTITION_CHANGE, kinds.UNREGISTER_BROKER]
    assert world.partitions[0] == led_by(2, 2, leader_epoch=5, partition_epoch=7)
    assert world.partitions[1] == led_by(2, 2, 3)
    assert list(world.image.brokers.by_id) == [2, 3]


def test_c24_whoever_goes_never_leads_by_an_unclean_election() -> None:
    """The image still has it as active while the step is decided."""
    for step in ("fence", "shut_down", "unregister", "lose"):
        world = World(led_by(1, 1), tracks_eligible=False, unclean_leader_election_enable="true")
        getattr(world.controller, step)(1)
        (after,) = world.partitions
        assert after == led_by(2, 2, leader_epoch=5, partition_epoch=7, is_recovering=True)


def test_c24_unclean_elections_are_the_topics_choice(caplog: pytest.LogCaptureFixture) -> None:
    world = World(led_by(1, 1), tracks_eligible=False)
    world.controller.fence(1)
    assert world.partitions[0].leader == NO_LEADER
    assert "partition without a leader topic=t-0" in caplog.text
    world = World(led_by(1, 1), tracks_eligible=False, unclean_leader_election_enable="true")
    world.controller.fence(1)
    assert "unclean election, records may be lost topic=t-0 leader=2" in caplog.text


def test_c25_whoever_was_not_shut_down_is_not_eligible() -> None:
    world = World(
        led_by(1, 1, 2),
        led_by(2, 2, eligible=(1, 3)),
        led_by(NO_LEADER, eligible=(1,), last_leader=(1,)),
        min_insync_replicas="3",
    )
    world.controller.lose(1)
    assert world.written_kinds() == [kinds.PARTITION_CHANGE] * 3
    assert world.partitions == (
        led_by(2, 2, leader_epoch=5, partition_epoch=7),
        led_by(2, 2, eligible=(3,), partition_epoch=7),
        led_by(NO_LEADER, last_leader=(1,), partition_epoch=7),
    )


def test_c25_whoever_comes_back_without_all_it_had_may_be_the_last_leader() -> None:
    world = World(led_by(1, 1))
    world.controller.fence(1)
    assert world.partitions[0].eligible == (1,)
    world.controller.lose(1)
    assert world.partitions[0].eligible == ()
    assert world.partitions[0].leader == NO_LEADER
    world.controller.unfence(1)
    (after,) = world.partitions
    assert (after.leader, after.isr, after.is_recovering) == (1, (1,), True)
    assert (after.last_leader, after.leader_epoch) == ((), 6)


def test_c25_without_eligible_leaders_it_is_as_a_fence() -> None:
    before = led_by(2, 2, 3, eligible=(1,))
    world = World(led_by(1, 1, 2), before, tracks_eligible=False)
    world.controller.lose(1)
    assert world.partitions == (led_by(2, 2, leader_epoch=5, partition_epoch=7), before)


# -- terms


@pytest.mark.parametrize(
    ("configured", "replicas", "effective"), [(1, 3, 1), (2, 3, 2), (3, 2, 2), (5, 1, 1)]
)
def test_c12_more_replicas_than_there_are_need_not_be_in_sync(
    configured: int, replicas: int, effective: int
) -> None:
    everywhere = tuple(range(1, replicas + 1))
    world = World(led_by(1, 1, replicas=everywhere), min_insync_replicas=str(configured))
    assert world.controller.terms(world.image.topics["t"]).min_isr == effective


def test_the_terms_are_those_of_the_topic() -> None:
    topic_of = World(led_by(1, 1), unclean_leader_election_enable="true")
    topic = topic_of.image.topics["t"]
    assert topic_of.controller.terms(topic).election is Election.UNCLEAN
    asked = topic_of.controller.terms(topic, Election.PREFERRED)
    assert asked.election is Election.PREFERRED
    assert asked.tracks_eligible
    assert [asked.may_lead(one) for one in (1, 3, 4)] == [True, True, False]
    plain = World(led_by(1, 1), tracks_eligible=False)
    terms = plain.controller.terms(plain.image.topics["t"])
    assert (terms.election, terms.tracks_eligible) == (Election.ONLINE, False)


# -- steps


def test_one_partition_is_altered() -> None:
    world = World(led_by(1, 1, 2), led_by(1, 1, 2))
    topic = world.image.topics["t"]
    after = led_by(1, 1, 2, 3, partition_epoch=7)
    world.controller.alter(topic, 1, after)
    assert world.partitions == (led_by(1, 1, 2), after)
    assert world.moved == [Moved(topic, 1, led_by(1, 1, 2), after)]


def test_replicas_come_with_the_directories_of_their_brokers() -> None:
    world = World(led_by(1, 1, 2))
    topic = world.image.topics["t"]
    world.controller.alter(
        topic, 0, led_by(1, 1, 2, replicas=(1, 2, 9), leader_epoch=5, partition_epoch=7)
    )
    (record,) = world.written
    assert record.value.directories == [directory(1), directory(2), bytes(16)]


@pytest.mark.parametrize("step", ["fence", "shut_down", "unregister", "lose"])
def test_a_step_that_is_not_written_changes_nothing(step: str) -> None:
    world = World(led_by(1, 1, 2))
    world.is_failing = True
    before = dict(world.image.brokers.by_id)
    with pytest.raises(KafkaStorageError):
        getattr(world.controller, step)(1)
    assert world.partitions == (led_by(1, 1, 2),)
    assert world.image.brokers.by_id == before
    assert world.moved == []


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("fence", "unfence", "shut_down", "lose", "register")), st.integers(1, 3)
    ),
    max_size=12,
)


@given(STEPS, st.booleans(), st.sampled_from(("1", "2", "3")), st.sampled_from(("true", "false")))
def test_whatever_brokers_do_partitions_stay_sound(
    steps: list[tuple[str, int]], tracks_eligible: bool, min_isr: str, unclean: str
) -> None:
    """C-10 to C-14, C-20 to C-25; and the log makes the same image again."""
    world = World(
        led_by(1, 1, 2, 3),
        led_by(2, 2, 3, 1),
        led_by(3, 3),
        tracks_eligible=tracks_eligible,
        min_insync_replicas=min_isr,
        unclean_leader_election_enable=unclean,
    )
    replayed = World(*world.partitions, tracks_eligible=tracks_eligible).image
    epochs = [one.leader_epoch for one in world.partitions]
    for step, node_id in steps:
        if step == "register":
            register(world, node_id)
        else:
            getattr(world.controller, step)(node_id)
        for before, after in zip(epochs, world.partitions, strict=True):
            assert after.leader_epoch >= before
            assert {*after.isr} | {*after.eligible} <= {1, 2, 3}
            assert not {*after.isr} & {*after.eligible}
            if after.leader != NO_LEADER:
                assert after.leader in after.isr
            if not tracks_eligible:
                assert after.isr
                assert after.eligible == after.last_leader == ()
        epochs = [one.leader_epoch for one in world.partitions]
    replayed.apply(world.written)
    assert replayed.topics["t"].partitions == world.partitions
    assert replayed.brokers.by_id == world.image.brokers.by_id


def test_an_empty_step_writes_nothing_of_partitions() -> None:
    world = World(led_by(2, 2, 3))
    world.controller.fence(1)
    assert world.written_kinds() == [kinds.BROKER_REGISTRATION_CHANGE]
    assert world.moved == []
