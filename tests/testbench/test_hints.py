"""Names in the texts of errors."""

from broker_lite.testbench.hints import did_you_mean, shortened


def test_a_name_like_another_one() -> None:
    assert did_you_mean("fetsch", ["Fetch", "Produce"]) == "; did you mean 'Fetch'?"
    assert did_you_mean("zzz", ["Fetch"]) == ""
    assert did_you_mean("Fetch" * 100_000, ["Fetch"]) == ""


def test_a_long_name_is_cut_off() -> None:
    assert (shortened("Fetch"), shortened(7)) == ("Fetch", 7)
    assert shortened("x" * 1000) == "x" * 100 + "..."
