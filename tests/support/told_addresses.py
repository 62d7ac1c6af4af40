"""What a broker tells a client of its own address, by every API that tells one.

python -m tests.support.told_addresses HOST PORT
"""

import sys

from tests.support.raw_client import RawClient


def told_addresses(host: str, port: int) -> set[str]:
    """The addresses, as HOST PORT; one where the broker agrees with itself."""
    with RawClient(host, port) as client:
        group = client.call("FindCoordinator", 4, key_type=0, coordinator_keys=["group"])
        nodes = (
            *client.call("Metadata", 12, topics=[]).brokers,
            *client.call("DescribeCluster", 1).brokers,
            *group.coordinators,
        )
    return {f"{node.host} {node.port}" for node in nodes}


if __name__ == "__main__":
    print(*told_addresses(sys.argv[1], int(sys.argv[2])), sep="\n")
