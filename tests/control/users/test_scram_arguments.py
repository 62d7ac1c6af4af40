"""Users of SCRAM as kafka-storage is given them; errors and keys are those of a Kafka 4.3.1."""

import pytest

from broker_lite.control.users.scram_arguments import parse_user
from broker_lite.errors import SettingsError

SALTED = (
    "salt=MWx2NHBkbnc0ZndxN25vdGN4bTB5Y3RoMQ==,"
    "saltedpassword=mT0yyUUxnlJaC99HXgRTSYlbuqa4FSGtJCJfTMvjYCE="
)


def test_keys_of_a_salted_password_are_kafkas() -> None:
    (name, mechanism), found = parse_user(
        f"SCRAM-SHA-256=[name=alice,{SALTED},iterations=8192]", bytes
    )
    assert (name, mechanism, found.iterations) == ("alice", 1, 8192)
    assert found.salt == b"1lv4pdnw4fwq7notcxm0ycth1"
    assert found.stored_key[:4] == bytes([93, 50, 42, 256 - 96])
    assert found.server_key[:4] == bytes([101, 256 - 82, 119, 71])


def test_a_password_gets_a_salt() -> None:
    key, found = parse_user('SCRAM-SHA-512=[ name = bob ,password="p=w"]', bytes)
    assert (key, found.salt, found.iterations) == (("bob", 2), bytes(24), 4096)
    assert len(found.stored_key) == 64


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("SCRAM-SHA-256", "Failed to find equals sign"),
        ("SCRAM-SHA-1=[name=a,password=hush]", "mechanism SCRAM-SHA-1 is not supported"),
        ("SCRAM-SHA-256=name=a", "start with"),
        ("SCRAM-SHA-256=[name=a", "end with"),
        ("SCRAM-SHA-256=[password=hush]", "supply 'name'"),
        ("SCRAM-SHA-256=[name=a]", "one of 'password' or"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=aHVzaA==]", "supply 'salt' with"),
        ("SCRAM-SHA-256=[name=a,password=hush,other=y]", "configurations: other"),
        ("SCRAM-SHA-256=[name=a,password=hush,iterations=100]", "must be >= 4096 .* SCRAM_SHA_256"),
        ("SCRAM-SHA-256=[name=a,password=hush,iterations=20000]", "must be <= 16384"),
        ("SCRAM-SHA-256=[name=a,password=hush,iterations=abc]", "iterations count: abc"),
        ("SCRAM-SHA-256=[name=a,password=]", "is empty"),
        ("SCRAM-SHA-256=[name=a,hush]", "No equals sign found"),
        ("SCRAM-SHA-256=[name=a,salt=!,password=hush]", "given salt"),
    ],
)
def test_what_is_written_wrongly(argument: str, text: str) -> None:
    with pytest.raises(SettingsError, match=text) as caught:
        parse_user(argument, bytes)
    assert "hush" not in str(caught.value)
