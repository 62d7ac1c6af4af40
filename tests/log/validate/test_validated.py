"""What the validator hands to the log."""

from broker_lite.log.validate.validated import ValidatedRecords
from tests.log.logs import T0, batch_bytes, validated


def test_v34_the_time_of_the_append_is_told() -> None:
    found: ValidatedRecords = validated(batch_bytes())
    assert not found.is_append_time
    assert found._replace(log_append_time_ms=T0).is_append_time
