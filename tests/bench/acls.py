"""What ACLs cost: CPU time of Metadata for 1,000 topics, without an authorizer and with 5,000 ACLs.

    python -m tests.bench.acls

The best of some rounds is told. Half of the ACLs are prefixed; they are of many users and hosts.
"""

import random
import tempfile
from pathlib import Path
from time import process_time

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.security.acls.acl import Acl, Operation, PatternType
from broker_lite.security.acls.authorizer import Authorizer
from broker_lite.security.acls.index import AclIndex
from tests.support.acls import ALICE, acl
from tests.support.handler_broker import HandlerBroker, handler_broker

TOPICS, ACLS, ROUNDS = 1000, 5000, 15


def random_acl(chance: random.Random, number: int) -> Acl:
    """An ACL about one of the topics, or about a prefix of its name."""
    name = f"topic-{chance.randrange(TOPICS):04d}"
    is_prefixed = number % 2 == 1
    return acl(
        Operation(chance.randint(2, 12)),
        name=name[: chance.randint(7, 10)] if is_prefixed else name,
        pattern_type=PatternType.PREFIXED if is_prefixed else PatternType.LITERAL,
        principal=chance.choice(("User:alice", "User:*", f"User:u{chance.randrange(500)}")),
        host=chance.choice(("*", "127.0.0.1", f"10.0.0.{chance.randrange(200)}")),
    )


def cpu_ms(broker: HandlerBroker, *, operations: bool = False) -> str:
    """The CPU time of a request for all topics, and how many are told."""
    best, count = float("inf"), 0
    for _ in range(ROUNDS):
        began = process_time()
        answer = broker.call(
            "Metadata", 10, topics=None, include_topic_authorized_operations=operations
        )
        best, count = min(best, process_time() - began), len(answer.topics)
    return f"{best * 1000:.1f} ms, {count} topics"


def main() -> None:
    """Run the benchmark."""
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder, handler_broker(Path(folder)) as broker:
        cluster = broker.cluster
        names = [f"topic-{number:04d}" for number in range(TOPICS)]
        cluster.create_topics([cluster.plan_topic(NewTopic(name)) for name in names])
        print("without an authorizer:", cpu_ms(broker))
        began = process_time()
        index = AclIndex(random_acl(chance, number) for number in range(ACLS))
        print(f"index of {ACLS} ACLs: {(process_time() - began) * 1000:.1f} ms")
        broker.context.principal = ALICE
        broker.context.authorizer = Authorizer(index)
        print("with ACLs:", cpu_ms(broker))
        print("with ACLs and operations:", cpu_ms(broker, operations=True))


if __name__ == "__main__":
    main()
