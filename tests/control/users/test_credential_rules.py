"""SCRAM credentials: what is kept of a password is what Kafka keeps."""

import base64

from broker_lite.control.users.credential_rules import CredentialPlan, Upsertion

# as a Kafka 4.3.1 wrote them into its metadata log for 32 times "p" and this salt
STORED_KEY = "5fFUxV0AD26xWkoJJg7bXVrfsC18oO/9teoJx9PJtT0="
SERVER_KEY = "HEtYAvOwTubW02jJL+5MEEljbbOmsXhQuGr9eFqJSO0="
UPSERTION = Upsertion("u", 1, 4096, b"salt", b"p" * 32)


def test_p164_the_keys_are_kafka_s() -> None:
    plan = CredentialPlan({})
    plan.add(UPSERTION)
    key, credential = plan.changes["u"]
    assert key == ("u", 1)
    assert credential is not None
    assert base64.b64encode(credential.stored_key).decode() == STORED_KEY
    assert base64.b64encode(credential.server_key).decode() == SERVER_KEY
    assert (credential.salt, credential.iterations) == (b"salt", 4096)
    assert plan.outcomes == {"u": None}


def test_p164_who_is_named_twice_stays_as_they_are() -> None:
    plan = CredentialPlan({})
    for _ in range(3):
        plan.add(UPSERTION)
    assert plan.changes == {}
    assert [type(error).__name__ for error in plan.outcomes.values()] == ["DuplicateResource"]
