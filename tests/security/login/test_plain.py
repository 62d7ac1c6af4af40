"""The client's side of PLAIN, against the broker's.

Also tests: broker_lite.security.login.mechanism.
"""

import pytest

from broker_lite.security.login.mechanism import BrokerRefused
from broker_lite.security.login.plain import PlainLogin
from broker_lite.security.sasl.plain import Plain


def test_x13_x15_user_and_password() -> None:
    login = PlainLogin("alicé", "secrét")
    step = Plain({"alicé": "secrét"}).take(login.first(), 0)
    assert step.name == "alicé"
    assert login.take(step.answer) is None


def test_an_answer_that_plain_does_not_have() -> None:
    with pytest.raises(BrokerRefused, match="answers to PLAIN with bytes"):
        PlainLogin("alice", "secret").take(b"x")
