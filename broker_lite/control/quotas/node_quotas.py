"""What the clients of one node use of their quotas: bytes in and out, and the time of requests.

Each node measures its own clients, as Kafka's brokers do.

A difference to Kafka: request_percentage counts the time that the handler of a request has the
event loop. Kafka counts the time of its threads that handle requests and serve the network.
"""

import math
from typing import Final

from broker_lite.control.quotas.levels import Levels
from broker_lite.control.quotas.measured import Measured
from broker_lite.control.quotas.mutations import Mutations
from broker_lite.control.quotas.rates import SampledRate, Windows
from broker_lite.control.quotas.request_quota import RequestQuota
from broker_lite.control.quotas.source import CONSUMER, PRODUCER, REQUEST, QuotaSource

_MS_PER_S: Final = 1000
_INT32_MAX: Final = 2**31 - 1


class RateQuota:
    """A quota of one key, and the rates of the clients that have it."""

    def __init__(self, key: str, source: QuotaSource, windows: Windows) -> None:
        """Begin with nothing measured."""
        self._measured = Measured(Levels(key, source.quotas, source.counts), SampledRate)
        self._now_ms = source.now_ms
        self.windows = windows

    def __len__(self) -> int:
        return len(self._measured)

    @property
    def is_on(self) -> bool:
        """Whether any client has such a quota; nothing is measured otherwise."""
        return self._measured.is_on

    def forget_limits(self) -> None:
        """Look quotas up anew, because they have changed."""
        self._measured.forget_limits()

    def record(self, user: str, client_id: str, amount: float) -> int:
        """Count an amount; return for how many milliseconds the client is above its quota."""
        if not self.is_on:
            return 0
        now_ms = self._now_ms()
        rate, quota = self._measured.of(user, client_id, now_ms)
        rate.record(amount, self.windows, now_ms)
        return rate.throttle_ms(quota, self.windows, now_ms)

    def take_back(self, user: str, client_id: str, amount: float) -> None:
        """Take back an amount that record() has counted."""
        if self.is_on:
            now_ms = self._now_ms()
            rate, _ = self._measured.of(user, client_id, now_ms)
            rate.record(-amount, self.windows, now_ms)

    def at_once_max(self, user: str, client_id: str) -> int:
        """Return how much may be counted at once without being above the quota for sure."""
        if not self.is_on:
            return _INT32_MAX
        _, quota = self._measured.of(user, client_id, self._now_ms())
        most = quota * (self.windows.samples - 1) * (self.windows.window_ms / _MS_PER_S)
        return 0 if math.isnan(most) else int(min(most, _INT32_MAX))


class NodeQuotas:
    """The quotas of one node's clients.

    Attributes:
        produced: bytes of Produce requests.
        fetched: bytes of Fetch answers.
        spent: time of requests, in percent of one thread.
        mutations: changes of topics, of the controller.
        throttled_count: how many requests were throttled since the start.
    """

    def __init__(self, source: QuotaSource, windows: Windows, mutations: Mutations) -> None:
        """Begin with nothing measured.

        Args:
            source: of the quotas.
            windows: of quota.window.num and quota.window.size.seconds.
            mutations: shared by all nodes.
        """
        self._source = source
        self._version = source.version()
        self.produced = RateQuota(PRODUCER, source, windows)
        self.fetched = RateQuota(CONSUMER, source, windows)
        self.spent = RateQuota(REQUEST, source, windows)
        self.mutations = mutations
        self.throttled_count = 0

    @property
    def measured_count(self) -> int:
        """How many rates are kept."""
        return len(self.produced) + len(self.fetched) + len(self.spent)

    def begin(self, user: str, client_id: str) -> RequestQuota:
        """Begin a request of a client."""
        version = self._source.version()
        if self._version != version:
            self._version = version
            for one in (self.produced, self.fetched, self.spent):
                one.forget_limits()
        return RequestQuota(self, user, client_id)

    def now_ms(self) -> int:
        """Return the time by the broker's clock."""
        return self._source.now_ms()
