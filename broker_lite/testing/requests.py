"""The recorded requests of a broker under test."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, cast

from broker_lite.testing.controlled import Controlled, elements, members

Expected: TypeAlias = str | Mapping[str, object] | tuple[str, Mapping[str, object]]
"""A request that a test expects: the name of its API, selectors, or both."""

LIMIT: Final = 10_000
_LATEST: Final = "r0"


class Request:
    """A request that a client sent, and its answer.

    Attributes:
        id: such as r1, the first one.
        api: the name of the API: Produce.
        version: of the API.
        client_id: of the header; None if the client gave none.
        connection: such as c1, the first one that the broker accepted.
        node: the broker that was asked.
        ended: "answered"; "none" for a Produce with acks=0; "closed", "cancelled", "failed",
            "fault"; empty while it is worked on.
        errors: the names of the errors in the answer.
        topics: the names of the topics in the request.
        groups: the group ids in the request.
        txn_ids: the transactional ids in the request.
        summary: all of it, and more, as the control API tells it.
    """

    def __init__(self, broker: Controlled, summary: Mapping[str, object]) -> None:
        """Take over what the control API tells of it; the rest is asked for when it is needed.

        Args:
            broker: that recorded it.
            summary: an entry of a list of requests.
        """
        self._broker = broker
        self._detail: dict[str, object] | None = None
        self.summary = summary
        self.id = str(summary["id"])
        self.api = str(summary["api"])
        self.version = cast(int, summary["version"])
        self.client_id = cast(str | None, summary.get("client_id"))
        self.connection = str(summary["connection"])
        self.node = cast(int, summary["node"])
        self.ended = str(summary.get("ended", ""))
        self.errors = self._texts("errors")
        self.topics = self._texts("topics")
        self.groups = self._texts("groups")
        self.txn_ids = self._texts("txn_ids")

    def __str__(self) -> str:  # type: ignore[explicit-override]
        """Return it in one line."""
        return str(self.summary.get("line", self.id))

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        """Return it in one line, in brackets."""
        return f"<{self}>"

    @property
    def body(self) -> dict[str, object]:
        """The decoded request, with Kafka's names of fields in snake_case."""
        return members(self.load()["request"])

    @property
    def answer(self) -> dict[str, object] | None:
        """The decoded answer; None if there is none yet, or there was none."""
        found = self.load().get("answer")
        return None if found is None else members(found)

    def load(self) -> dict[str, object]:
        """Ask the broker for all that is known of it; the second time, return the same.

        Raises:
            BrokerFailed: the broker has forgotten it.
        """
        if self._detail is None or not self._detail.get("ended"):
            self._detail = members(self._broker.control("GET", f"/v1/requests/{self.id}"))
        return self._detail

    def _texts(self, name: str) -> list[str]:
        return [str(each) for each in elements(self.summary.get(name, []))]


def requests_of(broker: Controlled, answer: object) -> list[Request]:
    """Return the requests of a list that the control API told."""
    return [Request(broker, members(each)) for each in elements(answer)]


def selectors_of(keys: Sequence[str | int], selectors: Mapping[str, object]) -> dict[str, object]:
    """Return selectors with the APIs among them."""
    return {**selectors, "keys": list(keys)} if keys else dict(selectors)


def expected_selectors(expected: Expected) -> dict[str, object]:
    """Return the selectors of a request that a test expects."""
    if isinstance(expected, str):
        return {"keys": [expected]}
    if isinstance(expected, tuple):
        api, selectors = expected
        return {**selectors, "keys": [api]}
    return dict(expected)


def after_id(after: Request | str | None) -> str:
    """Return the id after which to look; of the newest one that is not kept for None."""
    if isinstance(after, Request):
        return after.id
    return _LATEST if after is None else after
