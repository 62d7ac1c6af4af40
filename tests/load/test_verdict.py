"""The sentence who was the limit."""

from typing import Any

import pytest

from broker_lite.load.verdict import verdict


def run(**more: Any) -> Any:
    """Ten seconds as fast as can be, by a client that is not busy."""
    return {
        "requests_per_s": None,
        "settings": {"processes": 1},
        "measured": {"requests_per_s": 100.0, "seconds": 10.0},
        "cpu": {"client_s": 2.0, "broker_s": None},
        **more,
    }


SEEN = {"connections": "4 of 4 connections", "sentence": "The client is the limit."}


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (run(requests_per_s=100.5), "Nobody was the limit: the rate of 100.5 requests/s was kept."),
        (
            run(requests_per_s=200),
            "The rate was not kept: 100.0 of 200.0 requests/s. The client was not the limit by its"
            " CPU (20% of one). The broker was not asked (--control).",
        ),
        (run(limits=SEEN), "What the broker saw on 4 of 4 connections: The client is the limit."),
        (
            run(limits=SEEN, cpu={"client_s": 9.6}),
            "What the broker saw on 4 of 4 connections: The client is the limit. The client used"
            " 96% of one CPU, and one process has no more.",
        ),
        (
            run(cpu={"client_s": 9.6}),
            "The client is the limit: The client used 96% of one CPU, and one process has no more.",
        ),
        (
            run(cpu={"client_s": 19.0}, settings={"processes": 2}),
            "The client is the limit: The client used 1.9 CPUs with 2 processes.",
        ),
        (
            run(cpu={"client_s": 2.0, "broker_s": 9.5}, limits={"problem": "it has gone"}),
            "The client was not busy (20% of a CPU), the broker used 95% of one. The broker does"
            " not tell: it has gone.",
        ),
        (
            run(measured={"requests_per_s": 0, "seconds": 10.0}),
            "No request was answered in the time that was measured.",
        ),
    ],
)
def test_who_was_the_limit(result: Any, text: str) -> None:
    assert verdict(result) == text
