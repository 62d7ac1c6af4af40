from broker_lite.coordinator.transactions.settings import TransactionSettings
from broker_lite.settings import Given, Settings


def test_the_settings_of_a_broker() -> None:
    given = {
        "transaction.max.timeout.ms": "7",
        "transactional.id.expiration.ms": "8",
        "transaction.two.phase.commit.enable": "true",
    }
    settings = Settings({name: Given(text, "test") for name, text in given.items()})
    assert TransactionSettings.of(settings) == TransactionSettings(
        timeout_max_ms=7, has_two_phases=True, id_expiration_ms=8
    )
