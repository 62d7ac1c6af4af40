from broker_lite.control.coordinators.alarm import Alarm


def test_only_what_is_earlier_wakes() -> None:
    alarm, woken = Alarm(), []
    alarm.due_at(1)  # nobody sleeps yet, so nobody is woken
    alarm.wake = lambda: woken.append("woken")
    alarm.sleep_until(100)
    alarm.due_at(None)
    alarm.due_at(100)
    alarm.due_at(101)
    assert woken == []
    alarm.due_at(99)
    alarm.due_at(99)
    assert woken == ["woken"]


def test_who_waits_for_nothing_is_woken_by_anything() -> None:
    alarm, woken = Alarm(), []
    alarm.wake = lambda: woken.append("woken")
    alarm.sleep_until(None)
    alarm.due_at(1 << 60)
    assert woken == ["woken"]
