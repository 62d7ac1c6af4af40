"""Faults, recorded requests, waits, snapshots and the clock of a broker under test."""

import os
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import quote

from broker_lite.testing.controlled import WAIT, elements, given, in_ms, members
from broker_lite.testing.groups import GroupCommands
from broker_lite.testing.processes.forks import BrokerFailed
from broker_lite.testing.telemetry import TelemetryCommands

if TYPE_CHECKING:
    from broker_lite.testing.faults import Fault
    from broker_lite.testing.requests import Expected, Request
    from broker_lite.testing.scripts import Script

Recording: TypeAlias = Literal["off", "headers", "bodies"]


class BenchCommands(GroupCommands, TelemetryCommands):
    """What lets a broker misbehave on command, and tells what it saw."""

    _recording: dict[str, object] | None = None

    def freeze(self) -> None:
        """Stop the broker's clock: only advance() moves it then, and its timers and timestamps.

        Groups that wait for members, sessions, retention and time-outs of transactions stand still.
        unfreeze(), reset(), restore(), a restart and each next test of the fixtures let it go on.
        """
        self.control("POST", "/v1/clock", {"freeze": True})

    def unfreeze(self) -> None:
        """Let the broker's clock go on from where it stands."""
        self.control("POST", "/v1/clock", {"freeze": False})

    def fault(self, *keys: str | int, unused_ok: bool = False, **rule: object) -> "Fault":
        """Put a rule in force: `with broker.fault("Produce", error="REQUEST_TIMED_OUT") as fault:`.

        Leaving the context removes the rule. If no request met it, that raises FaultUnused, which
        tells which requests came near.

        Args:
            keys: the APIs by name; none for all.
            unused_ok: whether it may go without having acted on a request.
            rule: which requests (topic="orders", client_id="app*"), how often (skip=2, count=1),
                and what happens to them (error, hold, drop, delay_ms, ...); see the docs of faults.

        Raises:
            BrokerFailed: the rule is wrong; the text names the place.
        """
        __tracebackhide__ = True
        from broker_lite.testing.faults import Fault
        from broker_lite.testing.requests import selectors_of

        answer = self._control("POST", "/v1/faults", selectors_of(keys, rule))
        (state,) = elements(answer["rules"])
        return Fault(self, members(state), unused_ok=unused_ok)

    def hold(self, *keys: str | int, unused_ok: bool = False, **rule: object) -> "Fault":
        """Hold requests back until they are released: `with broker.hold("EndTxn") as held:`.

        `held.wait()` returns when a request is held, `held.release()` lets it go on. A rule holds
        one request, or as many as count=2 says; -1 for all.

        Args:
            keys: the APIs by name; none for all.
            unused_ok: whether it may go without having held a request.
            rule: which requests, and how many; see fault().

        Raises:
            BrokerFailed: the rule is wrong; the text names the place.
        """
        __tracebackhide__ = True
        return self.fault(*keys, unused_ok=unused_ok, hold=True, **rule)

    def script(
        self,
        source: str | os.PathLike[str] | Mapping[str, object],
        *,
        timeout: timedelta | None = None,
    ) -> "Script":
        """Run a script: `with broker.script("lost.yaml") as script:`.

        Leaving the context waits until all steps are done, all rules are spent and the expected
        requests have come. If that does not happen, it raises ScriptFailed, an AssertionError.

        Args:
            source: the path of a JSON or YAML file, or what it has as a dictionary; the record of a
                run repeats the broker's decisions.
            timeout: how long the end of the context waits; None for 10 seconds.

        Raises:
            BrokerFailed: the script is wrong; the text names the place.
        """
        __tracebackhide__ = True
        from broker_lite.testing.scripts import SCRIPT_WAIT, Script, script_of

        state = self._control("POST", "/v1/scripts", script_of(source))
        return Script(self, state, SCRIPT_WAIT if timeout is None else timeout)

    def faults(self) -> "list[Fault]":
        """Return the rules in force, in their order, also those that will not act any more."""
        from broker_lite.testing.faults import Fault

        answer = elements(self.control("GET", "/v1/faults"))
        return [Fault(self, members(state)) for state in answer]

    def clear_faults(self) -> None:
        """Remove all rules, let all requests go on that they hold, put certificates back."""
        self.control("DELETE", "/v1/faults")

    # -- recorded requests

    def record_requests(
        self,
        recording: Recording = "headers",
        *,
        keys: Iterable[str | int] | None = None,
        keep: int | None = None,
    ) -> None:
        """Record requests and their answers from now on, also after a restart.

        The fixtures `broker` and `broker_cluster` begin each test with "headers".

        Args:
            recording: "headers" keeps the first 4 KiB of each; "bodies" all bytes.
            keys: the APIs; None for all.
            keep: how many requests are kept, the newest ones; None for 100,000.
        """
        apis = None if keys is None else list(keys)
        body = given({"recording": recording, "keys": apis, "keep": keep})
        self.control("PUT", "/v1/requests/recording", body)
        self._recording = body

    def requests(
        self,
        *keys: str | int,
        errors: bool = False,
        after: "Request | str | None" = None,
        **selectors: object,
    ) -> "list[Request]":
        """Return recorded requests, decoded, the newest last.

        Args:
            keys: the APIs by name; none for all.
            errors: only requests that did not end well.
            after: only requests after this one.
            selectors: topic="orders", partitions=[0], where={"acks": 1}, ...

        Raises:
            BrokerFailed: a selector is wrong, or nothing is recorded.
        """
        from broker_lite.testing.requests import LIMIT, after_id, requests_of, selectors_of

        body: dict[str, object] = {
            "match": selectors_of(keys, selectors),
            "errors": errors,
            "limit": LIMIT,
        }
        if after is not None:
            body["after"] = after_id(after)
        found = requests_of(self, self.control("POST", "/v1/requests/find", body))
        if not found:
            self._check_recording()
        return found

    def expect(
        self,
        *expected: "Expected",
        others_ok: Iterable[str | int] | None = (),
        after: "Request | str | None" = None,
    ) -> "list[Request]":
        """Check that requests have come in this order; return them.

        Args:
            expected: each is the name of an API, or a tuple of it and selectors:
                ("Produce", {"partitions": [0]}).
            others_ok: APIs whose requests may come anywhere in between; None for all.
            after: only requests after this one.

        Raises:
            AssertionError: they have not; the text tells the first difference.
            BrokerFailed: a selector is wrong, or nothing is recorded.
        """
        __tracebackhide__ = True
        from broker_lite.testing.requests import Request, after_id, expected_selectors

        body = {
            "requests": [expected_selectors(each) for each in expected],
            "others_ok": None if others_ok is None else list(others_ok),
            "after": after_id(after),
        }
        answer = self._control("POST", "/v1/requests/match", body)
        difference = answer.get("first_difference")
        if difference is not None:
            self._check_recording()
            told = members(difference)
            raise AssertionError(f"{told['text']}\n{told['diff']}")
        found = [self._control("GET", f"/v1/requests/{each}") for each in _ids(answer)]
        return [Request(self, detail) for detail in found]

    def wait_for_request(
        self,
        *keys: str | int,
        count: int = 1,
        after: "Request | str | None" = None,
        timeout: timedelta = WAIT,
        **selectors: object,
    ) -> "list[Request]":
        """Wait until so many requests have been answered, now or before; return them.

        Args:
            keys: the APIs by name; none for all.
            count: how many requests.
            after: only requests after this one.
            timeout: how long to wait.
            selectors: topic="orders", partitions=[0], where={"acks": 1}, ...

        Raises:
            BrokerFailed: the time is over; the text tells which requests came near.
        """
        __tracebackhide__ = True
        from broker_lite.testing.requests import after_id, requests_of, selectors_of

        body = {
            "match": selectors_of(keys, selectors),
            "count": count,
            "timeout_ms": in_ms(timeout),
            "after": after_id(after),
        }
        return requests_of(self, self.control("POST", "/v1/requests/wait", body, wait=timeout))

    def _record_again(self) -> None:
        """Let a new process record what the one before did."""
        if self._recording is not None:
            self.control("PUT", "/v1/requests/recording", self._recording)

    # -- waits

    def wait_for_group(
        self,
        group: str,
        *,
        state: str | None = None,
        members: int | None = None,
        assigned: int | None = None,
        lag: int | None = None,
        timeout: timedelta = WAIT,
    ) -> dict[str, object]:
        """Wait until a group is as it should be; return what the broker knows of it.

        Args:
            group: its id.
            state: such as "Stable" or "Empty".
            members: how many it has.
            assigned: how many partitions its members have.
            lag: how many records it has not read, at most. It is not known, and will not do, before
                anything is assigned to the group or committed.
            timeout: how long to wait.

        Raises:
            BrokerFailed: the time is over; the text tells how the group is now.
        """
        wanted = {"state": state, "members": members, "assigned": assigned, "lag": lag}
        return self._wait("groups", group, wanted, timeout)

    def wait_for_topic(
        self,
        topic: str,
        *,
        partitions: int | None = None,
        partition: int | None = None,
        end_offset: int | None = None,
        records: int | None = None,
        timeout: timedelta = WAIT,
    ) -> dict[str, object]:
        """Wait until a topic is there, and has what it should have; return what it has.

        Args:
            topic: its name.
            partitions: how many it has, at least.
            partition: the only one that counts for end_offset and records; None for all.
            end_offset: of the partition, or of each, at least.
            records: how many consumers can read, at least.
            timeout: how long to wait.

        Raises:
            BrokerFailed: the time is over; the text tells how the topic is now.
        """
        wanted = {
            "partitions": partitions,
            "partition": partition,
            "end_offset": end_offset,
            "records": records,
        }
        return self._wait("topics", topic, wanted, timeout)

    def wait_for_transaction(
        self, txn_id: str, *, state: str | None = None, timeout: timedelta = WAIT
    ) -> dict[str, object]:
        """Wait until a transactional id is in a state; return what the broker knows of it.

        Args:
            txn_id: the transactional id.
            state: such as "Ongoing" or "CompleteCommit".
            timeout: how long to wait.

        Raises:
            BrokerFailed: the time is over; the text tells its state.
        """
        return self._wait("transactions", txn_id, {"state": state}, timeout)

    # -- snapshots

    def snapshot(self, name: str) -> None:
        """Keep the broker's state under a name: records, groups, transactions, configs."""
        self.control("PUT", f"/v1/snapshots/{quote(name, safe='')}")

    def restore(self, name: str) -> None:
        """Put the state back that snapshot() kept; all connections are closed.

        Raises:
            BrokerFailed: there is no such snapshot.
        """
        self.control("POST", f"/v1/snapshots/{quote(name, safe='')}/restore")

    # -- internals

    def _reset_by_control(self, *, keep_topics: bool) -> None:
        """Reset the broker; faults and recorded requests stay."""
        keep = ["faults", "journal", *(["topics"] if keep_topics else [])]
        self.control("POST", "/v1/reset", {"keep": keep})

    def _wait(
        self, kind: str, name: str, wanted: Mapping[str, object], timeout: timedelta
    ) -> dict[str, object]:
        body = {**given(wanted), "timeout_ms": round(in_ms(timeout))}
        path = f"/v1/{kind}/{quote(name, safe='')}/wait"
        return self._control("POST", path, body, wait=timeout)

    def _check_recording(self) -> None:
        """Demand that requests are recorded: else nothing was seen, whatever has come."""
        __tracebackhide__ = True
        __tracebackhide__ = True
        recording = members(self._control("GET", "/v1/requests/recording")["recording"])
        if recording.get("recording", "off") == "off":
            raise BrokerFailed("requests are not recorded; call record_requests() first")


def _ids(answer: dict[str, object]) -> list[str]:
    return [str(each) for each in elements(answer.get("requests", []))]
