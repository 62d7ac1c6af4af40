"""Secrets in messages are blotted out, and nothing else."""

import pytest

from broker_lite.wire import messages
from broker_lite.wire.secret_fields import SECRET_KEYS, is_secret_config, without_secrets

CONFIGS = {"num.partitions": "3", "ssl.keystore.password": "hush-é", "some.secret.of.mine": "hush"}


def incremental() -> bytes:
    kind = messages.IncrementalAlterConfigsRequest
    configs = [kind.AlterableConfig(name=name, value=value) for name, value in CONFIGS.items()]
    resource = kind.AlterConfigsResource(resource_type=4, resource_name="1", configs=configs)
    return kind.encode(kind(resources=[resource]), 1)


def test_configs_keep_their_length() -> None:
    data = b"head" + incremental()
    blotted = without_secrets(44, 1, data, 4)
    assert len(blotted) == len(data)
    assert blotted[:4] == b"head"
    assert b"hush" not in blotted
    assert b"num.partitions\x00\x02" + b"3" in blotted


def test_tokens() -> None:
    kind = messages.SaslAuthenticateResponse
    data = kind.encode(kind(auth_bytes=b"token", error_message="told"), 2)
    blotted = without_secrets(36, 2, data, is_answer=True)
    assert kind.decode(blotted, 2)[0] == kind(auth_bytes=b"*****", error_message="told")


@pytest.mark.parametrize("data", [b"", b"\xff\xff\xff\xff secret", bytes(70_000)])
def test_what_cannot_be_decoded_is_blotted_out_as_a_whole(data: bytes) -> None:
    assert without_secrets(36, 2, b"head" + data, 4) == b"head" + bytes(len(data))
    assert without_secrets(36, 99, data) == bytes(len(data))


def test_fields_of_the_future() -> None:
    kind = messages.SaslAuthenticateRequest
    asked = kind(auth_bytes=b"token")
    asked.unknown_tags = [(7, b"hush")]
    blotted, _ = kind.decode(without_secrets(36, 2, kind.encode(asked, 2)), 2)
    assert blotted.auth_bytes == b"*****"
    assert blotted.unknown_tags == [(7, b"****")]


def test_all_lists_of_these_apis_are_lists_of_structs() -> None:
    lists = [
        (fields, kind.structs)
        for api_key in SECRET_KEYS
        for kind in messages.by_api(api_key)
        for fields in kind.structs.values()
    ]
    for fields, structs in lists:
        for field in fields:
            assert (field.element_type in structs) == field.is_array, field


def test_others_stay() -> None:
    assert without_secrets(3, 1, b"secret") == b"secret"


def test_apis_with_secret_fields_are_listed() -> None:
    with_secrets = {
        api_key
        for api_key in range(100)
        for kind in _kinds(api_key)
        for fields in kind.structs.values()
        if any(field.attribute in {"auth_bytes", "salted_password", "hmac"} for field in fields)
    }
    assert with_secrets <= SECRET_KEYS


def _kinds(api_key: int) -> tuple[messages.MessageType, ...]:
    try:
        return messages.by_api(api_key)
    except KeyError:
        return ()


def test_names() -> None:
    assert is_secret_config("listener.name.x.plain.sasl.jaas.config")
    assert not is_secret_config("log.retention.ms")
