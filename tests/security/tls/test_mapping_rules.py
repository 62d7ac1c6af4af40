import pytest

from broker_lite.security.tls.mapping_rules import MappingRules, NoRuleMatches

_SUBJECT = "CN=Alice,OU=Dev,O=acme"


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", _SUBJECT),
        ("", _SUBJECT),
        (r"RULE:^CN=(.*?),.*$/$1/", "Alice"),
        (r"RULE:^CN=(.*?),.*$/$1/L", "alice"),
        (r"RULE:^CN=(.*?),OU=(.*?),.*$/$2-$1/U, DEFAULT", "DEV-ALICE"),
        (r"RULE:^CN=Bob.*$/bob/, RULE:^CN=(\w+),.*$/$1/L,DEFAULT", "alice"),
        (r"RULE:^CN=Alice$/whole name only/,DEFAULT", _SUBJECT),
    ],
)
def test_the_first_rule_that_matches_wins_x39(rules: str, name: str) -> None:
    assert MappingRules(rules).name_of(_SUBJECT) == name


def test_no_rule_matches_x39() -> None:
    with pytest.raises(NoRuleMatches, match="is for CN=Alice"):
        MappingRules("RULE:^CN=Bob.*$/bob/").name_of(_SUBJECT)


@pytest.mark.parametrize(
    "rules", ["RULE:a/b", "default", "RULE:(/b/", "RULE:a/$1/", "DEFAULT DEFAULT"]
)
def test_a_rule_is_invalid_x39(rules: str) -> None:
    with pytest.raises(ValueError, match="Invalid rule"):
        MappingRules(rules)
