"""Send the same requests of users with the same ACLs to broker-lite and to a real Kafka.

    python -m tests.differential.compare_acls --seed 1 --requests 5000

Users have random ACLs (allowed and denied, literal, prefixed, for all names, for hosts), which
change again and again. Compared are codes, what is left out, and authorized operations; times, ids
that are made up, addresses and texts are not. What differs is printed and makes the exit code 1.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from broker_lite.wire import ZERO_UUID, EncodeError, messages
from broker_lite.wire.structs import Struct
from tests.differential.acl_names import (
    EVERY_ACL,
    GROUPS,
    MADE,
    TOPICS,
    TRANSACTIONAL_IDS,
)
from tests.differential.acl_requests import AclRequests, Ask
from tests.differential.acl_sides import SUPER_USER, USERS, Side, Sides

REQUESTS_PER_WORLD: Final = 60
"""So many requests are sent before the ACLs change."""
_ACLS: Final = 14
_PATIENCE_S: Final = 20.0
_RETRIABLE: Final = frozenset({14, 15, 16, 51})
_CHANGING: Final = frozenset({"CreateTopics", "DeleteTopics", "Metadata"})
_UNCOMPARED: Final = frozenset(
    {
        "throttle_time_ms",
        "error_message",
        "message",
        "topic_id",
        "cluster_id",
        "host",
        "port",
        "brokers",
        "controller_id",
        "node_endpoints",
        "log_dir",
        "total_bytes",
        "usable_bytes",
        "partition_size",
        "producer_id",
        "producer_epoch",
        "records",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
        "log_end_offset",
        "high_watermark",
        "leader_epoch",
        "current_leader",
        "nodes",
        "api_keys",
        "finalized_features",
        "finalized_features_epoch",
        "supported_features",
        "documentation",
        "value",
        "offset",
        "base_offset",
        "log_start_offset",
        "last_stable_offset",
        "low_watermark",
        "end_offset",
        "is_fenced",
        "active_producers",
        "node_id",
        "is_cordoned",
        "config_type",
        "coordinator_key",
    }
)


class Difference(NamedTuple):
    """A request to which the two sides answered differently."""

    user: str
    ask: Ask
    value: Any
    kafka: Any
    ours: Any


def plain(value: Any, names: dict[bytes, str]) -> Any:
    """Make an answer comparable: without what is not compared, and in a fixed order."""
    if isinstance(value, Struct):
        fields = {
            name: plain(getattr(value, name), names)
            for name in value.__slots__
            if name not in _UNCOMPARED
        }
        topic_id = getattr(value, "topic_id", None)
        if topic_id is not None:
            zero_or_made_up = "none" if bytes(topic_id) == ZERO_UUID else "a new one"
            fields["of"] = names.get(bytes(topic_id), zero_or_made_up)
        return fields
    if isinstance(value, list):
        return sorted(_grouped([plain(one, names) for one in value]), key=repr)
    return value


def _grouped(items: list[Any]) -> list[Any]:
    """Join the entries of a topic that comes twice: the order of partitions is free in a Fetch."""
    groups: dict[str, dict[str, Any]] = {}
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("partitions"), list):
            return items
        key = repr({name: value for name, value in item.items() if name != "partitions"})
        known = groups.setdefault(key, {**item, "partitions": []})
        known["partitions"] = sorted([*known["partitions"], *item["partitions"]], key=repr)
    return [*groups.values()]


class World:
    """Two brokers with the same topics, groups and ACLs."""

    def __init__(self, sides: Sides, chance: random.Random) -> None:
        self._sides = sides.both
        self._chance = chance
        self.ids: list[dict[str, bytes]] = [{}, {}]

    def prepare(self) -> None:
        """Create topics, and use the coordinators, so that both have what they make on demand."""
        kind = messages.CreateTopicsRequest
        topics = [
            kind.CreatableTopic(name=name, num_partitions=2, replication_factor=1)
            for name in TOPICS
        ]
        for side in self._sides:
            side.call(SUPER_USER, "CreateTopics", 7, topics=topics, timeout_ms=10_000)
        self.settle()
        for side in self._sides:
            for names, key_type in ((GROUPS, 0), (TRANSACTIONAL_IDS, 1)):
                self._find(side, names, key_type)
            for group in GROUPS:
                self._commit(side, group)
        self.settle()

    def _find(self, side: Side, names: Sequence[str], key_type: int) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            answer = side.call(
                SUPER_USER,
                "FindCoordinator",
                4,
                key_type=key_type,
                coordinator_keys=list(names),
            )
            if all(one.error_code == 0 for one in answer.coordinators):
                return
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def _commit(self, side: Side, group: str) -> None:
        kind = messages.OffsetCommitRequest
        topics = [
            kind.OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    kind.OffsetCommitRequestPartition(
                        partition_index=0, committed_offset=3, committed_metadata=""
                    )
                ],
            )
            for name in TOPICS
        ]
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            answer = side.call(
                SUPER_USER,
                "OffsetCommit",
                8,
                group_id=group,
                generation_id_or_member_epoch=-1,
                member_id="",
                topics=topics,
            )
            if answer.topics[0].partitions[0].error_code not in _RETRIABLE:
                return
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def settle(self) -> None:
        """Wait until both sides tell the same topics, and learn the topics' ids."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            told = [side.call(SUPER_USER, "Metadata", 12, topics=None) for side in self._sides]
            self.ids = [{one.name: bytes(one.topic_id) for one in each.topics} for each in told]
            led = all(
                one.error_code == 0 and all(part.error_code == 0 for part in one.partitions)
                for each in told
                for one in each.topics
            )
            if led and self.ids[0].keys() == self.ids[1].keys():
                return
            assert time.monotonic() < deadline, [sorted(each) for each in self.ids]
            time.sleep(0.05)

    def new_acls(self) -> None:
        """Replace all ACLs by others, and wait until Kafka's broker knows them."""
        kind, of = messages.CreateAclsRequest, messages.DeleteAclsRequest
        every = of.DeleteAclsFilter(**EVERY_ACL)
        creations = [kind.AclCreation(**fields) for fields in random_acls(self._chance)]
        for side in self._sides:
            side.call(SUPER_USER, "DeleteAcls", 3, filters=[every])
            answer = side.call(SUPER_USER, "CreateAcls", 3, creations=creations)
            assert {one.error_code for one in answer.results} == {0}
        asked = messages.DescribeAclsRequest(**EVERY_ACL)
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            told = [
                plain(side.ask(SUPER_USER, "DescribeAcls", 3, asked), {}) for side in self._sides
            ]
            if told[0] == told[1] and told[0]["resources"]:
                break
            assert time.monotonic() < deadline, told
            time.sleep(0.05)
        time.sleep(0.1)  # the controller's authorizer learns it by itself

    def compare(self, user: str, ask: Ask) -> Difference | None:
        """Send a request to both sides; what differs is sent again before it counts."""
        values = [ask.build(ids) for ids in self.ids]
        for value in values:
            getattr(messages, f"{ask.name}Request").encode(value, ask.version)
        names = [{topic_id: name for name, topic_id in ids.items()} for ids in self.ids]
        for is_last in (False, True):
            told = [
                plain(side.ask(user, ask.name, ask.version, value), known)
                for side, value, known in zip(self._sides, values, names, strict=True)
            ]
            if ask.name in _CHANGING:
                time.sleep(0.05)
                self.settle()
            if told[0] == told[1]:
                return None
            if is_last or ask.name in ("CreateTopics", "DeleteTopics"):
                break
            time.sleep(0.3)
        return Difference(user, ask, values[1], told[0], told[1])


def random_acls(chance: random.Random) -> list[dict[str, Any]]:
    """Fields of some ACLs; most are about what the requests ask."""
    found = []
    for _ in range(_ACLS):
        resource_type = chance.choice((2, 2, 2, 2, 3, 3, 4, 4, 5, 5))
        names = {
            2: (*TOPICS, *MADE, "a-", "b-", "a-none", "*"),
            3: (*GROUPS, "g-", "*"),
            4: ("kafka-cluster",),
            5: (*TRANSACTIONAL_IDS, "tx-", "*"),
        }
        name = chance.choice(names[resource_type])
        prefixed = name.endswith("-") or (name != "*" and chance.random() < 0.1)
        found.append(
            {
                "resource_type": resource_type,
                "resource_name": name,
                "resource_pattern_type": 4 if prefixed else 3,
                "principal": f"User:{chance.choice((*USERS, *USERS, '*'))}",
                "host": chance.choice(("*", "*", "*", "127.0.0.1", "10.9.8.7")),
                "operation": chance.choice(range(2, 13)),
                "permission_type": chance.choice((3, 3, 3, 3, 2)),
            }
        )
    return found


def offered(sides: Sides) -> dict[str, tuple[int, int]]:
    """The versions of each API that both sides offer, by its name."""
    ranges: list[dict[int, tuple[int, int]]] = []
    for side in sides.both:
        answer = side.call(
            SUPER_USER, "ApiVersions", 3, client_software_name="t", client_software_version="1"
        )
        ranges.append({one.api_key: (one.min_version, one.max_version) for one in answer.api_keys})
    found = {}
    for key in ranges[0].keys() & ranges[1].keys():
        request, _ = messages.by_api(key)
        (low, high), (our_low, our_high) = ranges[0][key], ranges[1][key]
        found[request.name.removesuffix("Request")] = (max(low, our_low), min(high, our_high))
    return found


class Outcome(NamedTuple):
    """What a run found.

    Attributes:
        asked: how many requests of each API were compared.
        differences: the requests to which the sides answered differently.
    """

    asked: Counter[str]
    differences: list[Difference]


def compare(sides: Sides, seed: int, count: int, apis: Sequence[str] = ()) -> Outcome:
    """Compare the answers to random requests."""
    chance = random.Random(seed)
    world = World(sides, chance)
    versions = offered(sides)
    requests = AclRequests(chance, versions)
    world.prepare()
    outcome = Outcome(Counter(), [])
    names = [*(apis or requests.apis)]
    while outcome.asked.total() < count:
        if outcome.asked.total() % REQUESTS_PER_WORLD == 0:
            world.new_acls()
            chance.shuffle(names)
        total = outcome.asked.total()
        ask = requests.ask(names[total % len(names)])
        user = chance.choice((*USERS, *USERS, SUPER_USER))
        try:
            difference = world.compare(user, ask)
        except EncodeError:
            continue
        outcome.asked[ask.name] += 1
        if difference is not None:
            outcome.differences.append(difference)
    return outcome


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--apis", nargs="*", default=[])
    parser.add_argument(
        "--everyone", action="store_true", help="what no ACL is about is allowed to everybody"
    )
    options = parser.parse_args()
    more = {"allow.everyone.if.no.acl.found": str(options.everyone).lower()}
    with tempfile.TemporaryDirectory() as folder, Sides(Path(folder), more) as sides:
        outcome = compare(sides, options.seed, options.requests, options.apis)
    for one in outcome.differences:
        print(f"{one.user} {one.ask.name} v{one.ask.version} {one.value}")
        print(f"  kafka {one.kafka}\n  ours  {one.ours}")
    by_api = Counter(one.ask.name for one in outcome.differences)
    print(f"{outcome.asked.total()} requests of {len(outcome.asked)} APIs", end=", ")
    print(f"{len(outcome.differences)} differ", dict(by_api))
    return bool(outcome.differences)


if __name__ == "__main__":
    sys.exit(main())
