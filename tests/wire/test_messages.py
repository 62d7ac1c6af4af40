import pytest

from broker_lite.wire import messages


def test_by_api_p60() -> None:
    assert messages.by_api(3) == (messages.MetadataRequest, messages.MetadataResponse)
    with pytest.raises(KeyError):
        messages.by_api(999)


def test_records_by_type() -> None:
    assert messages.metadata_record(2) is messages.TopicRecord
    assert messages.coordinator_record(1, is_key=True) is messages.OffsetCommitKey
    assert messages.coordinator_record(1) is messages.OffsetCommitValue
    assert messages.QuorumStateData.name == "QuorumStateData"
    assert messages.TransactionLogKey.api_key == 0


@pytest.mark.parametrize("name", ["NoSuchMessage", "__path__", "_private"])
def test_unknown_message(name: str) -> None:
    with pytest.raises(AttributeError):
        getattr(messages, name)
