"""Rates and buckets: X-81, X-82, X-86. Times and results are those of Kafka 4.3.1's classes.

Also tests: broker_lite.control.quotas.source.
"""

import math

import pytest

from broker_lite.control.quotas.rates import SampledRate, TokenBucket, Windows, as_int32

DEFAULT = Windows()

# samples, window, quota; time, amount, throttle time, time of the windows, that of the bucket
CASES = [
    (
        (11, 1000, 1000.0),
        [
            (999, 4000.0, 0, 10000, 0),
            (11999, 1.0, 0, 10000, 0),
            (13000, 4000.0, 0, 10001, 0),
            (23999, 15000.0, 8001, 10999, 4000),
            (36000, 0.0, 0, 10000, 0),
            (48001, 0.0, 0, 10000, 0),
            (59000, -1.0, 0, 10999, 0),
            (70000, 1.0, 0, 10000, 0),
            (70999, 15000.0, 4002, 10999, 4000),
            (81998, 4000.0, 7003, 11998, 0),
            (92998, 50.0, 0, 10000, 0),
            (95001, 15000.0, 5047, 10003, 4000),
            (95101, 1.0, 4948, 10103, 3901),
            (95201, 4000.0, 8848, 10203, 7801),
            (97204, 15000.0, 23845, 10206, 20798),
            (97204, 15000.0, 38845, 10206, 35798),
            (97205, 1.0, 38845, 10207, 35798),
            (109206, 0.0, 0, 10000, 23797),
        ],
    ),
    (
        (3, 250, 7.5),
        [
            (100, 2.0, 0, 500, 0),
            (101, 0.0, 0, 501, 0),
            (201, 9.0, 866, 601, 616),
            (450, 2.0, 1133, 600, 633),
            (953, 2.0, 30, 503, 397),
            (1456, -1.0, 0, 503, 0),
            (1959, -1.0, 0, 503, 0),
            (2210, -1.0, 0, 501, 0),
            (3211, 9.0, 700, 500, 450),
            (4212, 1.0, 0, 500, 0),
            (4463, 0.0, 0, 501, 0),
            (4713, -1.0, 0, 501, 0),
            (4813, 2.0, 0, 601, 0),
            (5563, -1.0, 0, 500, 0),
        ],
    ),
]


@pytest.mark.parametrize(("settings", "events"), CASES, ids=["11 windows", "3 windows"])
def test_x81_x82_x86_as_kafka(
    settings: tuple[int, int, float], events: list[tuple[int, float, int, int, int]]
) -> None:
    samples, window_ms, quota = settings
    windows = Windows(samples, window_ms)
    rate, bucket = SampledRate(), TokenBucket()
    for now_ms, amount, throttle_ms, elapsed_ms, bucket_ms in events:
        rate.record(amount, windows, now_ms)
        bucket.take(amount, quota, windows, now_ms)
        found = (
            rate.throttle_ms(quota, windows, now_ms),
            rate.measure(windows, now_ms)[1],
            bucket.throttle_ms(quota, windows, now_ms),
        )
        assert found == (throttle_ms, elapsed_ms, bucket_ms), now_ms


def test_x81_nothing_is_no_rate() -> None:
    assert SampledRate().measure(DEFAULT, 5) == (0.0, 10_000)
    assert SampledRate().measure(Windows(1, 1000), 5) == (0.0, 1)


def test_x81_at_most_one_window_more_is_kept() -> None:
    rate = SampledRate()
    for now_ms in range(0, 100_000, 1000):
        rate.record(1.0, DEFAULT, now_ms)
    assert rate.measure(DEFAULT, 99_000)[0] == pytest.approx(1.1)


@pytest.mark.parametrize("quota", [math.nan, math.inf])
def test_x82_a_quota_that_is_no_number_throttles_nobody(quota: float) -> None:
    rate, bucket = SampledRate(), TokenBucket()
    rate.record(1e9, DEFAULT, 0)
    bucket.take(1e9, quota, DEFAULT, 0)
    bucket.take(1e9, quota, DEFAULT, 0)
    assert rate.throttle_ms(quota, DEFAULT, 0) == 0
    assert bucket.throttle_ms(quota, DEFAULT, 0) == 0


@pytest.mark.parametrize(
    ("amount", "told"),
    [(1_000.0, 990_000), (2_147_493.0, 2_147_483_000), (2_147_494.0, -2_147_483_296), (1e30, -1)],
)
def test_x82_kafka_keeps_the_lower_half_of_the_time(amount: float, told: int) -> None:
    rate = SampledRate()
    rate.record(amount, DEFAULT, 0)
    assert as_int32(rate.throttle_ms(1.0, DEFAULT, 0)) == told


def test_x86_a_bucket_is_full_after_a_while() -> None:
    bucket = TokenBucket()
    bucket.take(111.0, 10.0, DEFAULT, 1000)
    assert bucket.throttle_ms(10.0, DEFAULT, 1000) == 100
    assert bucket.throttle_ms(10.0, DEFAULT, 1099) == 1
    bucket.take(110.0, 10.0, DEFAULT, 60_000)
    assert bucket.throttle_ms(10.0, DEFAULT, 60_000) == 0
    # a smaller quota has fewer tokens at once, and they come back later
    bucket.take(0.0, 1.0, DEFAULT, 90_000)
    bucket.take(12.0, 1.0, DEFAULT, 90_000)
    assert bucket.throttle_ms(1.0, DEFAULT, 90_000) == 1000
