"""StreamsGroupDescribe of single groups."""

from broker_lite.coordinator.streams.describe import describe
from tests.coordinator.streams.streams_driver import Driver, Request, subtopology, topology


def test_a_group_is_described_with_its_topology_and_members() -> None:
    """U-23: numbers of partitions are there once the topology has been found to run."""
    driver = Driver(b=2, a=1, r=2, c=2)
    told = topology(
        subtopology("1", repartitions=[("r",)], changelogs=["c"]),
        subtopology("0", "b", "a", sinks=["r"]),
        epoch=4,
    )
    tag = Request.KeyValue(key="k", value="v")
    endpoint = Request.Endpoint(host="h", port=9)
    driver.join("m", told, client_tags=[tag], user_endpoint=endpoint)
    found = describe(driver.group)
    assert (found.group_state, found.group_epoch, found.assignment_epoch) == ("Stable", 2, 2)
    assert found.topology is not None
    first, last = found.topology.subtopologies or []
    assert (found.topology.epoch, first.source_topics) == (4, ["a", "b"])
    assert (first.repartition_sink_topics, last.subtopology_id) == (["r"], "1")
    assert [each.partitions for each in last.repartition_source_topics] == [0]
    driver.follow("m")
    found = describe(driver.group)
    assert found.topology is not None
    *_, last = found.topology.subtopologies or []
    internal = [*last.repartition_source_topics, *last.state_changelog_topics]
    assert [(each.name, each.partitions) for each in internal] == [("r", 2), ("c", 2)]
    (member,) = found.members
    assert (member.member_id, member.topology_epoch, member.process_id) == ("m", 4, "m")
    assert member.user_endpoint is not None
    assert (member.user_endpoint.port, member.client_tags[0].value) == (9, "v")
    for assignment in (member.assignment, member.target_assignment):
        assert [each.subtopology_id for each in assignment.active_tasks] == ["0", "1"]


def test_a_member_without_tasks() -> None:
    driver = Driver()
    driver.join("m", topology(subtopology("0", "t")))
    (member,) = describe(driver.group).members
    assert (member.user_endpoint, member.assignment.active_tasks) == (None, [])
    assert describe(driver.group).group_state == "NotReady"
