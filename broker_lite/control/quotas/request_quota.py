"""The quotas of a client, while one of its requests is handled."""

from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

from broker_lite.control.quotas.mutations import MutationQuota
from broker_lite.control.quotas.rates import as_int32

if TYPE_CHECKING:
    from broker_lite.control.quotas.node_quotas import NodeQuotas

_PERCENT_PER_NS: Final = 100 / 1_000_000_000


class RequestQuota:
    """The quotas of a client, while one of its requests is handled.

    Attributes:
        mutation: the quota for changes of topics, once a handler has asked for it.
        throttle_ms: how long the client is throttled, once that is known.
        until_ms: when that is over, by the broker's clock.
        is_settled: whether the handler has counted everything itself.
        is_refused: whether a Produce failed as a whole, so that its bytes do not count.
        spent_ns: the time that the handler has had the event loop.
        resumed_ns: since when it has it now.
    """

    __slots__ = (
        "_client",
        "_node",
        "is_refused",
        "is_settled",
        "mutation",
        "resumed_ns",
        "spent_ns",
        "throttle_ms",
        "until_ms",
    )

    def __init__(self, node: "NodeQuotas", user: str, client_id: str) -> None:
        self._node = node
        self._client = user, client_id
        self.mutation: MutationQuota | None = None
        self.throttle_ms = self.until_ms = 0
        self.is_settled = False
        self.is_refused = False
        self.spent_ns = 0
        self.resumed_ns = 0

    @property
    def is_timed(self) -> bool:
        """Whether the time of requests counts."""
        return self._node.spent.is_on

    def mutations(self, *, is_strict: bool) -> MutationQuota | None:
        """Return the quota for changes of topics; None if no client has one."""
        self.mutation = quota = self._node.mutations.of(*self._client)
        if quota is not None:
            quota.is_strict = is_strict
        return quota

    def creations(self) -> MutationQuota | None:
        """Return the quota for topics that the request creates on demand; None if there is none.

        It is strict, and does not throttle the client (AutoTopicCreationManager).
        """
        return self._node.mutations.of(*self._client)

    def fetch_bytes_max(self) -> int:
        """Return how many bytes an answer may have.

        See: X-84.
        """
        return self._node.fetched.at_once_max(*self._client)

    def settle_fetch(self, size_bytes: int) -> bool:
        """Count a Fetch answer, and the time of the request so far.

        Args:
            size_bytes: of the answer, with the four bytes of its size.

        Returns:
            True if the client is throttled. It gets no records then, and they do not count.

        Rule: X-84 (KafkaApis.handleFetchRequest).
        """
        self.is_settled = True
        if self.resumed_ns:
            self.spent_ns += perf_counter_ns() - self.resumed_ns
        by_time = self._by_time()
        by_bytes = as_int32(self._node.fetched.record(*self._client, size_bytes))
        self._throttle(max(by_bytes, by_time))
        if self.throttle_ms <= 0:
            return False
        self._node.fetched.take_back(*self._client, size_bytes)
        return True

    def settle_produce(self, size_bytes: int, *, has_answer: bool) -> None:
        """Count a Produce request; its time only if it is answered.

        Rule: X-83 (KafkaApis.handleProduceRequest).
        """
        by_bytes = 0
        if not self.is_refused:
            by_bytes = as_int32(self._node.produced.record(*self._client, size_bytes))
        self._throttle(max(by_bytes, self._by_time() if has_answer else 0))

    def settle(self) -> None:
        """Count the time of any other request, and look at the changes of topics that it made."""
        by_changes = 0 if self.mutation is None else self.mutation.throttle_ms
        self._throttle(max(self._by_time(), by_changes))

    def _by_time(self) -> int:
        """Count the time of the request; return the throttle time, which is at most one window.

        Rule: X-85 (ClientRequestQuotaManager).
        """
        spent = self._node.spent
        throttle_ms = spent.record(*self._client, self.spent_ns * _PERCENT_PER_NS)
        return min(throttle_ms, spent.windows.window_ms)

    def _throttle(self, throttle_ms: int) -> None:
        if throttle_ms > 0:
            self._node.throttled_count += 1
            self.throttle_ms = throttle_ms
            self.until_ms = self._node.now_ms() + throttle_ms
