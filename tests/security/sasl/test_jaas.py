"""JAAS texts as people's files and variables have them."""

import pytest

from broker_lite.security.sasl.jaas import JaasError, parse_file, parse_module


def test_a_module_and_its_options() -> None:
    module = parse_module('org.acme.Plain required\n  user_a="x;y\\"z" user_b=\'q\' n=1;')
    assert module == ("org.acme.Plain", {"user_a": 'x;y"z', "user_b": "q", "n": "1"})
    assert repr(module) == "LoginModule(org.acme.Plain)"


def test_a_file_of_sections() -> None:
    text = "// users\nKafkaServer { A required x=1; /* and */ B optional; };\nsasl.KafkaServer {};"
    found = parse_file(text)
    assert found["KafkaServer"] == [("A", {"x": "1"}), ("B", {})]
    assert found["sasl.KafkaServer"] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "A required",
        "A secret;",
        "A required x;",
        "A required x=;",
        'A required x="y',
        "A required; B required;",
    ],
)
def test_what_is_no_module_is_refused_without_its_text(text: str) -> None:
    with pytest.raises(JaasError) as caught:
        parse_module(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["KafkaServer", "KafkaServer {", "KafkaServer { A required; }", "{"]
)
def test_what_is_no_file(text: str) -> None:
    with pytest.raises(JaasError):
        parse_file(text)
