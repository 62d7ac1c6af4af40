"""Quotas on changes of topics: X-87."""

import pytest

from broker_lite.control.quotas.mutations import MutationQuota, Mutations, ThrottlingQuotaExceeded
from broker_lite.control.quotas.rates import Windows
from tests.control.quotas.used_quotas import UsedQuotas

KEY = "controller_mutation_rate"


def begun(used: UsedQuotas, *, is_strict: bool) -> MutationQuota:
    mutations = Mutations(used.source, Windows(2, 1000))
    quota = mutations.of("u", "c")
    assert quota is not None
    quota.is_strict = is_strict
    return quota


def test_x87_a_strict_quota_refuses_while_tokens_are_owed() -> None:
    used = UsedQuotas({("user",): {KEY: 5.0}})
    quota = begun(used, is_strict=True)
    quota.record(8)  # of 10
    quota.record(6)
    assert quota.throttle_ms == 0
    with pytest.raises(ThrottlingQuotaExceeded) as refused:
        quota.record(1)
    assert refused.value.message is None
    assert quota.throttle_ms == 800
    used.now_ms += 300
    assert quota.throttle_ms == 500
    used.now_ms += 501
    assert quota.throttle_ms == 0
    quota.record(1)


def test_x87_a_permissive_quota_takes_all_and_throttles() -> None:
    used = UsedQuotas({("user",): {KEY: 5.0}})
    quota = begun(used, is_strict=False)
    quota.record(10)
    assert quota.throttle_ms == 0
    quota.record(5)
    assert quota.throttle_ms == 1000
    quota.record(5)
    assert quota.throttle_ms == 2000


def test_x87_all_requests_share_the_bucket_of_a_client() -> None:
    used = UsedQuotas({("user",): {KEY: 5.0}})
    mutations = Mutations(used.source, Windows(2, 1000))
    first, second = mutations.of("u", "c"), mutations.of("u", "d")
    assert first is not None
    assert second is not None
    first.record(20)
    with pytest.raises(ThrottlingQuotaExceeded):
        second.record(1)
    assert first.throttle_ms == 0
    assert second.throttle_ms == 2000


def test_x89_a_change_counts_for_the_next_request() -> None:
    used = UsedQuotas({})
    mutations = Mutations(used.source, Windows(2, 1000))
    assert mutations.of("u", "c") is None
    used.set({("user",): {KEY: 5.0}})
    quota = mutations.of("u", "c")
    assert quota is not None
    quota.record(20)
    used.set({("user",): {KEY: 10.0}})
    again = mutations.of("u", "c")
    assert again is not None
    with pytest.raises(ThrottlingQuotaExceeded):
        again.record(1)
    assert again.throttle_ms == 1000
