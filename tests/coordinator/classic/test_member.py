from broker_lite.coordinator.classic.member import ClassicGroupState, ClassicMember


def test_g48_metadata_of_a_protocol() -> None:
    member = ClassicMember(
        "m",
        instance_id=None,
        client_id="c",
        client_host="/h",
        session_timeout_ms=1,
        rebalance_timeout_ms=2,
        protocols=[("range", b"1"), ("sticky", b"2")],
    )
    assert member.metadata("sticky") == b"2"
    assert member.metadata("other") == b""
    assert member.metadata(None) == b""
    assert (member.join_token, member.sync_token, member.is_new) == (None, None, False)


def test_g25_to_g29_states_have_kafkas_names() -> None:
    assert [state.value for state in ClassicGroupState] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "Dead",
    ]
