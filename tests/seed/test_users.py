import hashlib
import hmac
from collections.abc import Callable

from broker_lite.control.cluster.metadata_changes import credential_change
from broker_lite.control.users.credential_rules import ScramCredential
from broker_lite.security.sasl.scram_mechanisms import HASHES
from tests.seed.seeding import Seeding

OpenSeeding = Callable[..., Seeding]
USERS = {"admin": "admin-secret", "user": "user-secret", "bob": "bobs"}


def is_of(function: str, credential: ScramCredential, password: str) -> bool:
    """Whether a credential was made of a password, by the text of RFC 5802."""
    salted = hashlib.pbkdf2_hmac(
        function, password.encode(), credential.salt, credential.iterations
    )
    client_key = hmac.digest(salted, b"Client Key", function)
    server_key = hmac.digest(salted, b"Server Key", function)
    stored_key = hashlib.new(function, client_key).digest()
    return (credential.stored_key, credential.server_key) == (stored_key, server_key)


def test_every_user_has_a_credential_for_each_mechanism(open_seeding: OpenSeeding) -> None:
    seeding = open_seeding(
        broker_lite_security="sasl_plaintext", broker_lite_security_users="bob:bobs"
    )
    assert seeding.apply()
    found = seeding.cluster.scram_credentials
    assert found.keys() == {(name, number) for name in USERS for number in (1, 2)}
    for (name, number), credential in found.items():
        assert is_of(HASHES[number], credential, USERS[name])
        assert not is_of(HASHES[number], credential, USERS[name] + "x")


def test_credentials_that_are_there_stay(open_seeding: OpenSeeding) -> None:
    texts = {"broker_lite_security": "sasl_plaintext"}
    seeding = open_seeding(**texts)
    seeding.apply()
    mine = seeding.cluster.scram_credentials["admin", 1]
    seeding.cluster.write([credential_change("user", 1, mine), credential_change("user", 2, None)])
    seeding.close()
    again = open_seeding(**texts)
    again.apply()
    found = again.cluster.scram_credentials
    assert (found["user", 1], found["admin", 1]) == (mine, mine)
    assert ("user", 2) in found


def test_a_stop_leaves_the_rest_to_the_next_start(open_seeding: OpenSeeding) -> None:
    texts = {"broker_lite_security": "sasl_plaintext"}
    seeding = open_seeding(**texts)
    assert not seeding.apply(lambda: True)
    assert seeding.cluster.scram_credentials.keys() == {("admin", 1), ("admin", 2)}
    seeding.close()
    again = open_seeding(**texts)
    assert again.apply()
    assert len(again.cluster.scram_credentials) == 4


def test_without_sasl_there_are_none(open_seeding: OpenSeeding) -> None:
    seeding = open_seeding(broker_lite_security="ssl")
    seeding.apply()
    assert not seeding.cluster.scram_credentials
