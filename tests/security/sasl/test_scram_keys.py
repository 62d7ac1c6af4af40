"""The keys of a password, with the vector of RFC 7677."""

import base64

from broker_lite.security.sasl.scram_keys import keys_of, salted


def test_x16_the_keys_of_the_rfc() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    keys = keys_of(salted("pencil", salt, 4096, "sha256"), "sha256")
    stored = base64.b64encode(keys.stored_key)
    assert stored == b"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    assert base64.b64encode(keys.server_key) == b"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    assert repr(keys) == "ScramKeys()"
