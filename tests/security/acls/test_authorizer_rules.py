"""An authorizer from a broker's settings."""

import subprocess
import sys

import pytest

from broker_lite.errors import SettingsError
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.security.acls.authorizer_rules import authorizer_of
from broker_lite.security.acls.index import AclIndex
from broker_lite.security.principal import Principal
from broker_lite.settings import load_settings

TOPIC = ResourceType.TOPIC


def may_read(user: str, **settings: str) -> bool:
    given = {name.replace("_", "."): text for name, text in settings.items()}
    authorizer = authorizer_of(load_settings(env={}, overrides=given), AclIndex())
    return authorizer.allows(Principal("User", user), "127.0.0.1", Operation.READ, TOPIC, "t")


def test_x42_super_users_of_the_settings() -> None:
    users = "User:admin; User:CN=broker,O=acme;;Group:x"
    assert may_read("admin", super_users=users)
    assert may_read("CN=broker,O=acme", super_users=users)
    assert not may_read("x", super_users=users)
    assert not may_read("alice", super_users=users)


def test_x42_everybody_of_the_settings() -> None:
    assert not may_read("alice")
    assert may_read("alice", allow_everyone_if_no_acl_found="true")


def test_a_super_user_without_a_kind() -> None:
    with pytest.raises(SettingsError, match=r"^super\.users: admin: write User:NAME, and a semi"):
        may_read("admin", super_users="User:x;admin")


def test_a_start_without_an_authorizer_imports_nothing_of_it() -> None:
    program = (
        "import sys, broker_lite.server.run;"
        "sys.exit(any(name.startswith('broker_lite.security.acls') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
