"""What the requests of a client count: X-83 to X-85.

Also tests: broker_lite.control.quotas.request_quota.
"""

import math
from time import perf_counter_ns

import pytest

from broker_lite.control.quotas.mutations import Mutations
from broker_lite.control.quotas.node_quotas import NodeQuotas
from broker_lite.control.quotas.rates import Windows
from broker_lite.control.quotas.request_quota import RequestQuota
from tests.control.quotas.used_quotas import UsedQuotas

WINDOWS = Windows()


class Node:
    """The quotas of a node, and of the requests of one client."""

    def __init__(self, **quotas: float) -> None:
        self.used = UsedQuotas({("client-id",): quotas})
        self.quotas = NodeQuotas(self.used.source, WINDOWS, Mutations(self.used.source, WINDOWS))

    def begin(self) -> RequestQuota:
        return self.quotas.begin("u", "c")

    def produced(self, size_bytes: int, *, has_answer: bool = True, spent_ns: int = 0) -> int:
        quota = self.begin()
        quota.spent_ns = spent_ns
        quota.settle_produce(size_bytes, has_answer=has_answer)
        return quota.throttle_ms

    def fetched(self, size_bytes: int) -> int:
        quota = self.begin()
        assert quota.settle_fetch(size_bytes) == (quota.throttle_ms > 0)
        return quota.throttle_ms


def test_x83_the_bytes_of_requests_count() -> None:
    node = Node(producer_byte_rate=1000.0)
    assert node.produced(10_000) == 0
    assert node.produced(1_000) == 1000
    assert node.produced(0, has_answer=False) == 1000
    assert node.quotas.throttled_count == 2
    node.used.now_ms += 60_000
    assert node.produced(10_001, has_answer=False) == 1


def test_x83_a_request_that_failed_as_a_whole_does_not_count() -> None:
    node = Node(producer_byte_rate=1000.0)
    quota = node.begin()
    quota.is_refused = True
    quota.settle_produce(100_000, has_answer=True)
    assert (quota.throttle_ms, node.produced(10_000)) == (0, 0)


def test_x83_the_longer_time_counts_and_without_an_answer_only_that_of_the_bytes() -> None:
    node = Node(producer_byte_rate=1000.0, request_percentage=1.0)
    assert node.produced(11_000, spent_ns=10**9) == 1000
    assert node.produced(11_000, spent_ns=10**9) == 12_000
    node.used.now_ms += 60_000
    assert node.produced(100, spent_ns=10**9) == 1000
    node.used.now_ms += 60_000
    assert node.produced(100, spent_ns=10**9, has_answer=False) == 0


def test_x84_what_a_throttled_client_does_not_get_does_not_count() -> None:
    node = Node(consumer_byte_rate=1000.0)
    assert node.fetched(8000) == 0
    assert node.fetched(3000) == 1000
    assert node.fetched(3000) == 1000
    assert node.fetched(2000) == 0


def test_x84_more_than_a_quota_allows_at_once_is_not_read() -> None:
    assert Node(consumer_byte_rate=1000.0).begin().fetch_bytes_max() == 10_000
    assert Node(consumer_byte_rate=2.0**62).begin().fetch_bytes_max() == 2**31 - 1
    assert Node(consumer_byte_rate=math.nan).begin().fetch_bytes_max() == 0
    assert Node(producer_byte_rate=1.0).begin().fetch_bytes_max() == 2**31 - 1


def test_x84_a_client_that_is_throttled_by_time_gets_no_records() -> None:
    node = Node(consumer_byte_rate=1000.0, request_percentage=1.0)
    quota = node.begin()
    quota.resumed_ns = perf_counter_ns() - 10**9
    assert quota.settle_fetch(9000)
    assert quota.throttle_ms == 1000
    node.used.now_ms += 5000
    assert node.quotas.fetched.record("u", "c", 9000) == 0


def test_x85_time_counts_and_throttles_for_one_window_at_most() -> None:
    node = Node(request_percentage=50.0)
    quota = node.begin()
    assert quota.is_timed
    quota.spent_ns = 5 * 10**9  # 500 % of a second, in 10 seconds
    quota.settle()
    assert quota.throttle_ms == 0
    quota = node.begin()
    quota.spent_ns = 2 * 10**8
    quota.settle()
    assert quota.throttle_ms == pytest.approx(400, abs=1)
    assert quota.until_ms == node.used.now_ms + quota.throttle_ms
    quota = node.begin()
    quota.spent_ns = 10**10
    quota.settle()
    assert quota.throttle_ms == 1000


def test_x87_the_longer_time_counts() -> None:
    node = Node(controller_mutation_rate=1.0)
    quota = node.begin()
    assert not quota.is_timed
    changes = quota.mutations(is_strict=False)
    assert changes is not None
    changes.record(13)
    quota.settle()
    assert quota.throttle_ms == 2000


def test_x87_topics_that_are_made_on_demand_do_not_throttle() -> None:
    node = Node(controller_mutation_rate=1.0)
    quota = node.begin()
    changes = quota.creations()
    assert changes is not None
    changes.record(13)
    quota.settle()
    assert quota.throttle_ms == 0
    assert Node().begin().creations() is None


def test_x89_without_a_quota_nothing_is_measured() -> None:
    node = Node()
    assert (node.produced(10**9), node.fetched(10**9)) == (0, 0)
    assert node.quotas.measured_count == 0
    node.used.set({("client-id",): {"producer_byte_rate": 1000.0, "consumer_byte_rate": 1000.0}})
    assert (node.produced(11_000), node.fetched(11_000)) == (1000, 1000)
    assert node.quotas.measured_count == 2
    node.used.set({})
    assert node.fetched(11_000) == 0


def test_x89_quotas_may_be_taken_away_while_a_request_is_handled() -> None:
    node = Node(consumer_byte_rate=1000.0)
    node.quotas.fetched.take_back("u", "c", 1)
    node.used.set({})
    node.quotas.fetched.take_back("u", "c", 1)
    assert node.fetched(100_000) == 0
