"""Kafka's scripts that broker-lite does not have: one line each, with what to use instead."""

from collections.abc import Mapping
from typing import Final

_CONNECT: Final = (
    "Kafka Connect is not part of broker-lite; run it from Kafka's own distribution, with"
    " bootstrap.servers set to this broker"
)
_SHARE: Final = (
    "broker-lite has no share consumer of its own; the script of Kafka's distribution works with"
    " this broker"
)

_REASONS: Final[Mapping[str, str]] = {
    "connect-distributed": _CONNECT,
    "connect-mirror-maker": _CONNECT,
    "connect-plugin-path": _CONNECT,
    "connect-standalone": _CONNECT,
    "console-share-consumer": _SHARE,
    "delegation-tokens": (
        "delegation tokens are not part of broker-lite; its only security protocol is PLAINTEXT"
    ),
    "jmx": "a broker without a Java VM has no JMX",
    "metadata-shell": (
        "use kafka-dump-log --cluster-metadata-decoder --files DATA/__cluster_metadata-0/*.log"
    ),
    "replica-verification": (
        "every partition has one replica here; broker-lite log verify checks its files"
    ),
    "share-consumer-perf-test": _SHARE,
    "streams-application-reset": (
        "use kafka-streams-groups --reset-offsets --delete-all-internal-topics; for an application"
        " with group.protocol=classic kafka-consumer-groups --reset-offsets --group APPLICATION_ID,"
        " and kafka-topics --delete for its internal topics"
    ),
    "trogdor": "Trogdor's agents and coordinator are not part of broker-lite",
    "verifiable-consumer": "use kafka-console-consumer",
    "verifiable-producer": "use kafka-console-producer",
    "verifiable-share-consumer": _SHARE,
}

MISSING_SCRIPTS: Final[Mapping[str, str]] = {
    tool: tool if tool.startswith(("connect-", "trogdor")) else f"kafka-{tool}" for tool in _REASONS
}
"""The names of the scripts, without `.sh`, by the name of the tool."""

MISSING: Final[Mapping[str, str]] = {
    tool: f"{script}: {_REASONS[tool]}" for tool, script in MISSING_SCRIPTS.items()
}
"""The line that each of them prints, by the name of the tool."""
