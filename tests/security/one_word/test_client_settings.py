import pytest

from broker_lite.security.one_word.client_settings import (
    Access,
    key_and_certificate,
    of_java,
    of_kafkajs,
    of_librdkafka,
    properties_text,
)
from broker_lite.security.sasl.jaas import parse_module
from broker_lite.settings.sources.java_properties import parse_properties

PLAIN = Access("localhost:9092")
SCRAM = Access(
    "a:1,b:2",
    "SASL_SSL",
    ca="-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
    mechanism="SCRAM-SHA-512",
    user="bob",
    password='x\\"y',
)
MUTUAL = Access("a:1", "SSL", ca="CA\n", client_key="KEY\n", client_certificate="CERT\n")


def test_a_plain_broker_has_an_address_only() -> None:
    assert of_java(PLAIN) == of_librdkafka(PLAIN) == {"bootstrap.servers": "localhost:9092"}
    assert of_kafkajs(PLAIN) == {"brokers": ["localhost:9092"]}


def test_java() -> None:
    texts = of_java(SCRAM)
    module = parse_module(texts.pop("sasl.jaas.config"))
    assert module.name == "org.apache.kafka.common.security.scram.ScramLoginModule"
    assert module.options == {"username": "bob", "password": 'x\\"y'}
    assert texts == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": SCRAM.ca,
    }


def test_java_with_a_certificate_and_with_a_token() -> None:
    assert of_java(MUTUAL)["ssl.keystore.key"] == "KEY\n"
    assert of_java(MUTUAL)["ssl.keystore.certificate.chain"] == "CERT\n"
    login = of_java(SCRAM._replace(mechanism="OAUTHBEARER"))["sasl.jaas.config"]
    assert parse_module(login).options == {"unsecuredLoginStringClaim_sub": "bob"}


def test_librdkafka() -> None:
    assert of_librdkafka(SCRAM) == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "bob",
        "sasl.password": 'x\\"y',
        "ssl.ca.pem": SCRAM.ca,
    }
    assert of_librdkafka(MUTUAL)["ssl.key.pem"] == "KEY\n"


def test_kafkajs() -> None:
    assert of_kafkajs(SCRAM) == {
        "brokers": ["a:1", "b:2"],
        "ssl": {"ca": [SCRAM.ca]},
        "sasl": {"mechanism": "scram-sha-512", "username": "bob", "password": 'x\\"y'},
    }
    assert of_kafkajs(MUTUAL)["ssl"] == {"ca": ["CA\n"], "cert": "CERT\n", "key": "KEY\n"}
    with pytest.raises(ValueError, match="function that makes tokens"):
        of_kafkajs(SCRAM._replace(mechanism="OAUTHBEARER"))


def test_a_properties_file_is_read_as_it_was_meant() -> None:
    texts = of_java(SCRAM)
    read = parse_properties(properties_text(texts))
    assert read == {**texts, "ssl.truststore.certificates": SCRAM.ca.rstrip("\n")}


def test_a_key_and_its_certificate() -> None:
    key, certificate = "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN CERTIFICATE-----\n"
    assert key_and_certificate(key + certificate) == (key, certificate)


def test_it_shows_no_secret() -> None:
    assert repr(SCRAM) == "Access('a:1,b:2', 'SASL_SSL', 'bob')"
