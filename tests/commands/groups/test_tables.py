"""Tables with every column; that they are those of Kafka's tool is shown in test_groups.py."""

import pytest

from broker_lite.client import Client
from broker_lite.client.address import Address
from broker_lite.client.admin.group_admin import DEAD, EMPTY, Group, Member
from broker_lite.commands.groups.tables import members_table, states_table, tell_state


def group(state: str, *members: Member) -> Group:
    return Group("g", state, "", 1, Address("::1", 9092), members, 5, 6)


def test_members_with_places_of_their_own(bootstrap: str) -> None:
    static = Member("m", "i" * 20, "c", "/h", {"b": [1, 2], "a": [0]}, 4, {})
    other = Member("n", "", "c", "/h", {}, None, None)
    with Client(bootstrap) as client:
        lines = list(members_table(client, group("Stable", static, other), True))
    assert [line.split() for line in lines[1:]] == [
        ["g", "m", "i" * 20, "/h", "c", "3", "4", "a:0;b:1,2", "6", "-"],
        ["g", "n", "/h", "c", "0", "-", "-", "-", "-"],
    ]


def test_states(bootstrap: str) -> None:
    with Client(bootstrap) as client:
        narrow = list(states_table(client, group(EMPTY), False))
        wide = list(states_table(client, group(EMPTY), True))
    assert narrow[1].split() == ["g", "[::1]:9092", "(1)", "-", "Empty", "0"]
    assert wide[1].split() == ["g", "[::1]:9092", "(1)", "-", "Empty", "5", "6", "0"]


@pytest.mark.parametrize(
    ("state", "is_there", "out", "err"),
    [
        ("Stable", True, "", ""),
        (EMPTY, True, "", "\nConsumer group 'g' has no active members.\n"),
        ("Assigning", True, "", "\nWarning: Consumer group 'g' is rebalancing.\n"),
        (DEAD, False, "\nError: Consumer group 'g' does not exist.\n", ""),
    ],
)
def test_what_is_told(
    capsys: pytest.CaptureFixture[str], state: str, is_there: bool, out: str, err: str
) -> None:
    assert tell_state(group(state)) is is_there
    assert capsys.readouterr() == (out, err)
