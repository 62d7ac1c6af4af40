"""Share groups and streams groups, for a test that asserts on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Self
from urllib.parse import quote, urlencode

from broker_lite.testing.controlled import WAIT, Controlled, elements, given, in_ms, members


@dataclass(frozen=True, slots=True)
class RecordRun:
    """Neighbouring records of a share partition that have one state.

    Attributes:
        first: the first offset.
        last: the last offset, inclusive.
        state: acquired, available, acknowledged or archived. What is available is delivered once
            more; for the first time if its delivery_count is 0.
        delivery_count: how often they were delivered.
        member: the member id of who has acquired them; empty if nobody has.
        lock_ms: how long its lock still lasted; None without a lock.
    """

    first: int
    last: int
    state: str
    delivery_count: int
    member: str
    lock_ms: int | None


@dataclass(frozen=True, slots=True)
class SharePartition:
    """A partition as a share group has it.

    Attributes:
        start: the first record that is not done; None before a member has read.
        end: the high watermark; None if no member has read, and the log was not used since the
            broker was started.
        lag: how many records are not done; None where the start is.
        acquired: how many records members have, and have said nothing about.
        available: how many were delivered, and will be delivered once more.
        acknowledged: how many are done although others before them are not.
        archived: how many of those will not be delivered again.
        accepted: about how many records members have said so, since the broker was started.
        released: the same for records to be delivered again.
        rejected: the same for records never to be delivered again.
        runs: of the records from the start on that a member was given, or that lie in a batch with
            such records, in order.
        runs_left_out: how many runs more there are.
    """

    start: int | None
    end: int | None
    lag: int | None
    acquired: int
    available: int
    acknowledged: int
    archived: int
    accepted: int
    released: int
    rejected: int
    runs: tuple[RecordRun, ...]
    runs_left_out: int

    @classmethod
    def of(cls, answer: Mapping[str, object]) -> Self:
        """Return the partition that an answer of the control API is about."""
        told = {name: answer[name] for name in cls.__slots__}
        told["runs"] = tuple(
            RecordRun(**members(each))  # type: ignore[arg-type]  # as the control API has them
            for each in elements(answer["runs"])
        )
        return cls(**told)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """A share group, as it was when the broker was asked.

    Attributes:
        group: its id.
        state: Empty, Stable or Dead.
        in_flight: how many records are acquired, or will be delivered once more.
        lag: how many records are not done; None while no member has read.
        accepted: how many records members have accepted, since the broker was started.
        released: the same for records to be delivered again.
        rejected: the same for records never to be delivered again.
        partitions: by topic and number, the first 1,000.
        partitions_left_out: how many more there are; they count in the numbers above.
    """

    group: str
    state: str
    in_flight: int
    lag: int | None
    accepted: int
    released: int
    rejected: int
    partitions: Mapping[tuple[str, int], SharePartition]
    partitions_left_out: int

    @classmethod
    def of(cls, answer: Mapping[str, object]) -> Self:
        """Return the group that an answer of the control API is about."""
        told = {name: answer[name] for name in cls.__slots__}
        told["partitions"] = {
            (topic, int(number)): SharePartition.of(members(each))
            for topic, some in members(answer["partitions"]).items()
            for number, each in members(some).items()
        }
        return cls(**told)  # type: ignore[arg-type]


Tasks = frozenset[tuple[str, int]]
"""Tasks by the id of their subtopology and their number."""


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """A member of a streams group: one thread of an application.

    Attributes:
        id: the member id.
        client_id: of its requests.
        process_id: members with the same one share their local state.
        epoch: of the target assignment that it has.
        state: stable, unrevoked_tasks while it has to give back tasks, or unreleased_tasks while
            it waits for tasks of others.
        active: the tasks that it runs.
        standby: the tasks whose state it keeps up with.
        warmup: the tasks whose state it catches up with.
    """

    id: str
    client_id: str
    process_id: str
    epoch: int
    state: str
    active: Tasks
    standby: Tasks
    warmup: Tasks

    @classmethod
    def of(cls, answer: Mapping[str, object]) -> Self:
        """Return the member that an answer of the control API is about."""
        told = {name: answer[name] for name in cls.__slots__}
        for role in ("active", "standby", "warmup"):
            told[role] = frozenset(
                (key, number)
                for key, some in members(answer[role]).items()
                for number in elements(some)
            )
        return cls(**told)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class StreamsGroup:
    """A streams group, as it was when the broker was asked.

    Attributes:
        group: its id.
        state: Empty, NotReady, Assigning, Reconciling, Stable or Dead.
        epoch: of the group.
        topology_epoch: of the topology; None before the first member.
        problem: why the topology cannot run, such as MISSING_SOURCE_TOPICS; empty if it can.
        detail: of the problem, in words.
        missing: internal topics that have to be created.
        tasks: how many there are; None while the topics of the topology are not there.
        subtopologies: by id, each with sources, repartition_sources, repartition_sinks, changelogs
            and its number of tasks.
        members: sorted by id, the first 1,000.
        members_count: of all members.
    """

    group: str
    state: str
    epoch: int
    topology_epoch: int | None
    problem: str
    detail: str
    missing: tuple[str, ...]
    tasks: int | None
    subtopologies: Mapping[str, Mapping[str, object]]
    members: tuple[StreamsMember, ...]
    members_count: int

    @classmethod
    def of(cls, answer: Mapping[str, object]) -> Self:
        """Return the group that an answer of the control API is about."""
        told = {name: answer[name] for name in cls.__slots__}
        told["missing"] = tuple(elements(answer["missing"]))
        told["subtopologies"] = {
            str(each["id"]): each for each in map(members, elements(answer["subtopologies"]))
        }
        told["members"] = tuple(
            StreamsMember.of(members(each)) for each in elements(answer["members"])
        )
        return cls(**told)  # type: ignore[arg-type]


class GroupCommands(Controlled):
    """What shows share groups and streams groups, and waits for them."""

    def share_group(self, group: str, *, topic: str | None = None) -> ShareGroup:
        """Return what a share group has in flight, and how far it is.

        Args:
            group: its id.
            topic: only this one; None for all.

        Raises:
            BrokerFailed: there is no such group, or it is of another type.
        """
        query = urlencode(given({"topic": topic}))
        path = f"/v1/groups/{quote(group, safe='')}/in-flight{'?' if query else ''}{query}"
        return ShareGroup.of(self._control("GET", path))

    def wait_for_share_group(
        self,
        group: str,
        *,
        accepted: int | None = None,
        released: int | None = None,
        rejected: int | None = None,
        in_flight: int | None = None,
        lag: int | None = None,
        topic: str | None = None,
        timeout: timedelta = WAIT,
    ) -> ShareGroup:
        """Wait until a share group is as it should be; return how it is then.

        Args:
            group: its id.
            accepted: members have accepted so many records since the broker was started, or more.
            released: the same for records to be delivered again.
            rejected: the same for records never to be delivered again.
            in_flight: at most so many records are acquired, or will be delivered once more.
            lag: at most so many records are not done. It is not known, and will not do, before a
                member has read.
            topic: only its records count; None for those of all topics.
            timeout: how long to wait.

        Raises:
            BrokerFailed: the time is over; the text tells how the group is now.
        """
        __tracebackhide__ = True
        wanted = {
            "accepted": accepted,
            "released": released,
            "rejected": rejected,
            "in_flight": in_flight,
            "lag": lag,
            "topic": topic,
        }
        body = {**given(wanted), "timeout_ms": round(in_ms(timeout))}
        path = f"/v1/groups/{quote(group, safe='')}/in-flight/wait"
        return ShareGroup.of(self._control("POST", path, body, wait=timeout))

    def streams_group(self, group: str) -> StreamsGroup:
        """Return the topology of a streams group, and which member has which tasks.

        Args:
            group: its id, which is the application.id.

        Raises:
            BrokerFailed: there is no such group, or it is of another type.
        """
        path = f"/v1/groups/{quote(group, safe='')}/tasks"
        return StreamsGroup.of(self._control("GET", path))

    def wait_for_streams_group(
        self,
        group: str,
        *,
        state: str = "Stable",
        members: int | None = None,
        timeout: timedelta = WAIT,
    ) -> StreamsGroup:
        """Wait until a streams group is in a state; return how it is just after.

        Args:
            group: its id, which is the application.id.
            state: such as "Stable" or "NotReady".
            members: how many it has; every thread of an application is one.
            timeout: how long to wait.

        Raises:
            BrokerFailed: the time is over, and the text tells how the group is now; or it is of
                another type.
        """
        __tracebackhide__ = True
        wanted = given({"state": state, "members": members})
        body = {**wanted, "timeout_ms": round(in_ms(timeout))}
        path = f"/v1/groups/{quote(group, safe='')}/wait"
        self._control("POST", path, body, wait=timeout)
        return self.streams_group(group)
