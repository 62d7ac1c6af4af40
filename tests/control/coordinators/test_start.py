from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.start import Coordinators
from tests.control.conftest import OpenCluster


def test_both_are_started_and_set_one_alarm(open_cluster: OpenCluster) -> None:
    clock = Clock.standing_still()
    coordinators = Coordinators.start(open_cluster(), clock)
    woken: list[str] = []
    coordinators.alarm.wake = lambda: woken.append("woken")
    clock.step(1)
    assert woken == ["woken"]
    # looking for offsets that expired is all that is ever due in an empty cluster
    assert coordinators.groups.next_deadline_ms() > clock.steady_ms()
    assert coordinators.transactions.next_deadline_ms() is None
