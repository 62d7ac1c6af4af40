"""Quotas on changes of topics: how many partitions a client may make and delete (KIP-599).

They are measured by the controller, which is the same for all nodes.
"""

from collections.abc import Callable

from broker_lite.control.quotas.levels import Levels
from broker_lite.control.quotas.measured import Measured
from broker_lite.control.quotas.rates import TokenBucket, Windows, as_int32
from broker_lite.control.quotas.source import MUTATION, QuotaSource
from broker_lite.errors import BrokerError, ErrorCode


class ThrottlingQuotaExceeded(BrokerError):
    """The quota for changes of topics is used up (89)."""

    code = ErrorCode.THROTTLING_QUOTA_EXCEEDED


class Mutations:
    """The buckets of the controller: one token is one partition that is made or deleted."""

    def __init__(self, source: QuotaSource, windows: Windows) -> None:
        """Begin with full buckets.

        Args:
            source: of the quotas.
            windows: of controller.quota.window.num and controller.quota.window.size.seconds.
        """
        self._source = source
        self._version = source.version()
        self._windows = windows
        levels = Levels(MUTATION, source.quotas, source.counts)
        self.measured = Measured(levels, TokenBucket)

    def of(self, user: str, client_id: str) -> "MutationQuota | None":
        """Return the quota for a request of a client; None if no client has one."""
        if self._version != self._source.version():
            self._version = self._source.version()
            self.measured.forget_limits()
        if not self.measured.is_on:
            return None
        now_ms = self._source.now_ms()
        return MutationQuota(
            *self.measured.of(user, client_id, now_ms), self._windows, self._source.now_ms
        )


class MutationQuota:
    """The bucket of a client, while one of its requests is handled.

    A strict quota refuses a change once tokens are owed, and takes the tokens of the others however
    few there are. One that is not strict takes them in any case, and throttles.

    Attributes:
        is_strict: set by the handler, by the version of its API.

    Rule: X-87 (StrictControllerMutationQuota, PermissiveControllerMutationQuota).
    """

    __slots__ = ("_bucket", "_now_ms", "_quota", "_told", "_windows", "is_strict")

    def __init__(
        self, bucket: TokenBucket, quota: float, windows: Windows, now_ms: Callable[[], int]
    ) -> None:
        """Begin a request."""
        self.is_strict = True
        self._bucket = bucket
        self._quota = quota
        self._windows = windows
        self._now_ms = now_ms
        # The throttle time of the last change that was over the quota, and when that was.
        self._told = 0, 0

    def record(self, partition_count: int) -> None:
        """Take a token for each partition of a change.

        Raises:
            ThrottlingQuotaExceeded: the quota is strict, and tokens are owed; none is taken.
        """
        now_ms = self._now_ms()
        if self.is_strict:
            owed_ms = self._bucket.throttle_ms(self._quota, self._windows, now_ms)
            if owed_ms:
                self._told = owed_ms, now_ms
                raise ThrottlingQuotaExceeded
        self._bucket.take(partition_count, self._quota, self._windows, now_ms)
        if not self.is_strict:
            owed_ms = self._bucket.throttle_ms(self._quota, self._windows, now_ms)
            if owed_ms:
                self._told = owed_ms, now_ms

    @property
    def throttle_ms(self) -> int:
        """What is left of the throttle time."""
        owed_ms, told_ms = self._told
        return max(0, as_int32(owed_ms - (self._now_ms() - told_ms))) if owed_ms else 0
