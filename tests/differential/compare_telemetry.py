"""Send the same requests of client metrics to a broker-lite and to a real Kafka with a receiver.

A step is a request, and what is noted of its answer: all but ids that are made at random. Times are
the broker's own, so a step that waits for a push interval waits for real on a Kafka.
"""

import gzip
from collections.abc import Callable, Iterator
from typing import Any, Final, Self

import lz4.frame
import snappy
import zstandard

from broker_lite.control.telemetry.subscription import Wanted, subscription_id
from broker_lite.wire import messages
from tests.support.pushed_metrics import message
from tests.support.raw_client import RawClient

INTERVAL_MS: Final = 2000
MAX_BYTES: Final = 1 << 20
ZEROS: Final = bytes(16)
SET, DELETE, APPEND, SUBTRACT = range(4)
CLIENT_METRICS: Final = 16
_VALID: Final = message({"a.b": 1.0})

Noted = tuple[str, Any]
"""The title of a step, and what is noted of its answer."""


class TelemetrySide:
    """One of the two brokers, and the connection of a client to it."""

    def __init__(self, port: int, pass_ms: Callable[[int], None]) -> None:
        self._port = port
        self._pass_ms = pass_ms
        self.client = self.connect("app-1")
        self.instance_id = ZEROS
        self.subscription = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def connect(self, client_id: str, *, tells_software: bool = True) -> RawClient:
        """Another connection."""
        client = RawClient("127.0.0.1", self._port, client_id=client_id, timeout_s=30)
        if tells_software:
            software = {"client_software_name": "soft", "client_software_version": "1.2"}
            client.call("ApiVersions", 4, **software)
        return client

    def wait(self) -> None:
        """Let a push interval pass."""
        self._pass_ms(INTERVAL_MS + 50)

    def settle(self) -> None:
        """Let a change of configs reach the broker."""
        self._pass_ms(300)

    def subscribe(self, instance_id: bytes | None = None) -> list[Any]:
        """Ask what to push; an answer without error is what later pushes go by."""
        asked = self.instance_id if instance_id is None else instance_id
        answer = self.client.call("GetTelemetrySubscriptions", 0, client_instance_id=asked)
        if answer.error_code:
            return [answer.error_code, answer.client_instance_id, answer.subscription_id]
        self.instance_id, self.subscription = answer.client_instance_id, answer.subscription_id
        wanted = Wanted(tuple(sorted(answer.requested_metrics)), answer.push_interval_ms)
        return [
            answer.error_code,
            *wanted,
            # the order of the metrics, and so the id, is that of a hash set in Java
            len(wanted.metrics) > 1
            or answer.subscription_id == subscription_id(wanted, self.instance_id),
            answer.accepted_compression_types,
            answer.telemetry_max_bytes,
            answer.delta_temporality,
        ]

    def push(self, metrics: bytes = _VALID, codec: int = 0, **changed: Any) -> int:
        """Push by the last subscription, and return the error code."""
        wrong = changed.pop("wrong", 0)
        fields = {
            "client_instance_id": self.instance_id,
            "subscription_id": self.subscription ^ wrong,
            "terminating": False,
        }
        answer = self.client.call(
            "PushTelemetry", 0, metrics=metrics, compression_type=codec, **fields | changed
        )
        return int(answer.error_code)

    def alter(self, name: str, *operations: tuple[str, int, str | None]) -> list[Any]:
        """Change configs of a subscription."""
        request = messages.IncrementalAlterConfigsRequest
        configs = [
            request.AlterableConfig(name=key, config_operation=kind, value=text)
            for key, kind, text in operations
        ]
        resource = request.AlterConfigsResource(
            resource_type=CLIENT_METRICS, resource_name=name, configs=configs
        )
        answer = self.client.call("IncrementalAlterConfigs", 1, resources=[resource])
        self.settle()
        (result,) = answer.responses
        return [result.error_code, result.error_message]

    def replace(self, name: str, **configs: str) -> list[Any]:
        """Replace the configs of a subscription; underscores stand for dots."""
        request = messages.AlterConfigsRequest
        given = [
            request.AlterableConfig(name=key.replace("_", "."), value=text)
            for key, text in configs.items()
        ]
        resource = request.AlterConfigsResource(
            resource_type=CLIENT_METRICS, resource_name=name, configs=given
        )
        answer = self.client.call("AlterConfigs", 2, resources=[resource])
        self.settle()
        (result,) = answer.responses
        return [result.error_code, result.error_message]

    def describe(self, name: str, *keys: str) -> list[Any]:
        """Tell the configs of a subscription."""
        request = messages.DescribeConfigsRequest
        resource = request.DescribeConfigsResource(
            resource_type=CLIENT_METRICS, resource_name=name, configuration_keys=[*keys] or None
        )
        answer = self.client.call("DescribeConfigs", 4, resources=[resource], include_synonyms=True)
        (result,) = answer.results
        configs = sorted(
            [
                each.name,
                each.value,
                each.config_source,
                each.read_only,
                each.is_sensitive,
                each.config_type,
                [[one.name, one.value, one.source] for one in each.synonyms],
            ]
            for each in result.configs
        )
        return [result.error_code, result.error_message, configs]

    def listed(self) -> list[str]:
        """The names of all subscriptions, as both versions of the API tell them."""
        old = self.client.call("ListConfigResources", 0)
        new = self.client.call("ListConfigResources", 1, resource_types=[CLIENT_METRICS])
        names = [each.resource_name for each in new.config_resources]
        assert names == [each.resource_name for each in old.config_resources]
        return names

    def wanted_of(self, client_id: str, *, tells_software: bool = True) -> list[str]:
        """What a new client with an id is to push."""
        with self.connect(client_id, tells_software=tells_software) as client:
            answer = client.call("GetTelemetrySubscriptions", 0, client_instance_id=ZEROS)
            return sorted(answer.requested_metrics)


def steps(side: TelemetrySide) -> Iterator[Noted]:
    """Carry out all steps on one side."""
    told = side.client.call("ApiVersions", 3, client_software_name="s", client_software_version="1")
    yield "offered", [[e.api_key, e.max_version] for e in told.api_keys if e.api_key in (71, 72)]
    yield from _configs(side)
    yield from _requests(side)
    yield from _payloads(side)
    yield from _matches(side)


def _configs(side: TelemetrySide) -> Iterator[Noted]:
    for key, text in (
        ("nope", "1"),
        ("interval.ms", "x"),
        ("interval.ms", "99"),
        ("interval.ms", "3600001"),
        ("interval.ms", ""),
        ("interval.ms", "999999999999"),
        ("match", "x=1"),
        ("match", "client_id"),
        ("match", "client_id="),
        ("match", "client_id=a=b"),
        ("match", "client_id=["),
        ("match", "client_id=a,,"),
        ("match", ""),
        ("match", "client_id=a="),
        ("match", " client_id = x.* , client_source_port=1 "),
        ("match", "client_id=\\p{Lu}+"),
        ("metrics", "a,a"),
        ("metrics", ""),
        ("metrics", "a,,b"),
        ("metrics", " a , b "),
    ):
        yield f"set {key}={text!r}", side.alter("c", (key, SET, text))
        yield f"described after {key}={text!r}", side.describe("c")
    for key in ("metrics", "interval.ms", "cleanup.policy", "nope"):
        for kind in (APPEND, SUBTRACT):
            yield f"list operation {kind} on {key}", side.alter("c", (key, kind, "a"))
    yield "null", side.alter("c", ("metrics", SET, None))
    yield "twice", side.alter("c", ("metrics", SET, "a"), ("metrics", SET, "b"))
    yield "some keys", side.describe("c", "metrics", "nope")
    yield "listed", side.listed()
    gone = (("metrics", DELETE, None), ("match", DELETE, None), ("interval.ms", DELETE, None))
    yield "removed", side.alter("c", *gone)
    yield "listed no more", side.listed()
    yield "removed again", side.alter("c", *gone)
    yield "no such name", side.describe("other")
    yield "no name", side.describe("")
    yield "set without a name", side.alter("", ("nope", SET, "1"))
    yield "replaced", side.replace("c", metrics="*", interval_ms="1000")
    yield "replaced by something wrong", side.replace("c", nope="1")
    yield "as it was replaced", side.describe("c")
    yield "replaced by nothing", side.replace("c")
    yield "none is left", side.listed()


def _requests(side: TelemetrySide) -> Iterator[Noted]:
    yield "without a subscription", side.subscribe(ZEROS)
    yield "too early", side.subscribe()
    yield "the id of the metadata topic", side.subscribe(bytes(15) + b"\x01")
    yield "push without an id", side.push(client_instance_id=ZEROS)
    yield "push with a reserved id", side.push(client_instance_id=bytes(15) + b"\x01")
    side.alter("s", ("metrics", SET, "x.b,x.a,a"), ("interval.ms", SET, str(INTERVAL_MS)))
    yield "subscribed", side.subscribe(ZEROS)
    yield "first push", side.push()
    yield "second at once", side.push()
    side.wait()
    yield "in time", side.push()
    side.wait()
    yield "wrong in every way", side.push(bytes(MAX_BYTES + 1), 9, wrong=1)
    yield "too early again", side.push(bytes(MAX_BYTES + 1), 9, wrong=1)
    yield "asked after a wrong subscription", side.subscribe()
    side.wait()
    yield "wrong codec and size", side.push(bytes(MAX_BYTES + 1), 9)
    yield "asked after a wrong codec", side.subscribe()
    side.wait()
    yield "too large", side.push(bytes(MAX_BYTES + 1))
    yield "asked after a large push", side.subscribe()
    side.wait()
    yield "last push", side.push(terminating=True)
    yield "push after the last", side.push()
    yield "last push twice", side.push(terminating=True)
    side.wait()
    yield "asked after the last push", side.subscribe()
    yield "pushed after the last push", side.push()
    yield "unknown instance", side.push(client_instance_id=b"nobody has asked")
    yield "new instance", side.subscribe(ZEROS)
    yield "wrong and last", side.push(wrong=1, terminating=True)
    side.wait()
    yield "after wrong and last", side.push()
    yield "another new instance", side.subscribe(ZEROS)
    side.alter("s", ("metrics", SET, "*"))
    yield "pushed by an old subscription", side.push()
    yield "asked for the new one", side.subscribe()
    side.client.close()
    side.client = side.connect("app-2")
    side.settle()
    yield "asked on another connection", side.subscribe()


def _payloads(side: TelemetrySide) -> Iterator[Noted]:
    bomb, fits = _padded(MAX_BYTES + 1), _padded(MAX_BYTES)
    yield "for payloads", side.subscribe(ZEROS)
    for title, codec, data in (
        ("empty", 0, b""),
        ("plain", 0, _VALID),
        ("gzip", 1, gzip.compress(_VALID)),
        ("snappy", 2, snappy.compress(_VALID)),
        ("lz4", 3, lz4.frame.compress(_VALID)),
        ("zstd", 4, zstandard.compress(_VALID)),
        ("no message", 0, b"\xff" * 20),
        ("no gzip", 1, b"garbage"),
        ("no snappy", 2, b"garbage"),
        ("no lz4", 3, b"garbage"),
        ("no zstd", 4, b"garbage"),
        ("gzip that fits", 1, gzip.compress(fits)),
        ("gzip bomb", 1, gzip.compress(bomb)),
        ("zstd that fits", 4, zstandard.compress(fits)),
        ("zstd bomb", 4, zstandard.compress(bomb)),
        ("negative codec", -1, _VALID),
    ):
        side.wait()
        yield title, side.push(data, codec)


def _matches(side: TelemetrySide) -> Iterator[Noted]:
    side.alter("s", ("metrics", DELETE, None), ("interval.ms", DELETE, None))
    for match in (
        "client_id=sp.*",
        "client_id=.*",
        "client_software_name=soft,client_software_version=1\\.2",
        "client_software_name=unknown",
        "client_source_address=127\\.0\\.0\\.1,client_source_port=[0-9]+",
        "client_instance_id=[A-Za-z0-9_-]{22}",
    ):
        side.alter("m", ("metrics", SET, "q"), ("match", SET, match))
        yield f"{match}: special", side.wanted_of("special")
        yield f"{match}: other", side.wanted_of("not-special")
        yield f"{match}: no software", side.wanted_of("special", tells_software=False)
        yield f"{match}: no id", side.wanted_of("")
    side.alter("m", ("metrics", DELETE, None), ("match", DELETE, None))


def _padded(size_bytes: int) -> bytes:
    """A message of just this size whose only field is not known; above 2 MiB it would differ."""
    rest = size_bytes - 1 - 3
    return bytes([0x7A, rest & 127 | 128, rest >> 7 & 127 | 128, rest >> 14]) + bytes(rest)
