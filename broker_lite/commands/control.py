"""`broker-lite control`: faults, waits and snapshots of a running broker, by its control API.

Each command is one request. `get`, `post`, `put`, `patch` and `delete` send any request; the other
words are short for those that are needed often.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

from broker_lite.commands.shared.rule_text import parsed_json, parsed_rule
from broker_lite.errors import ClientError, SettingsError
from broker_lite.settings.declared.one_word_settings import CERTIFICATE_FAULTS
from broker_lite.testbench.http.client import DEFAULT_URL, ControlClient, refusal_text

_OK: Final = 200
_METHODS: Final = ("get", "post", "put", "patch", "delete")
_STATES: Final = {"down": "down", "up": "up", "hang": "hung", "stop": "stopped"}


class _Request(NamedTuple):
    """A request of the control API."""

    method: str
    path: str
    body: object = None


_Make = Callable[[argparse.Namespace], _Request]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument(
        "--url", default=DEFAULT_URL, metavar="URL", help=f"of the control API [{DEFAULT_URL}]"
    )
    words = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    for method in _METHODS:
        generic = words.add_parser(method, help=f"send {method.upper()} PATH")
        generic.add_argument("path", metavar="PATH", help="such as /v1/brokers/2")
        if method != "get":
            generic.add_argument(
                "body", metavar="JSON", nargs="?", help="or @FILE; - is standard input"
            )
        generic.set_defaults(make=_generic)
    _add_faults(_group(words, "faults", "rules for requests that fail, wait or are counted"))
    _add_groups(_group(words, "groups", "wait for groups, and look at what they have"))
    _add_snapshots(_group(words, "snapshots", "save the state of the broker, and put it back"))
    _add_brokers(_group(words, "brokers", "what happens to a broker of the cluster"))
    _add_certificates(_group(words, "certificates", "certificates that clients have to refuse"))
    _add_acls(_group(words, "acls", "what clients may do"))
    _add_requests(words.add_parser("requests", help="what clients asked and were answered"))
    reset = words.add_parser("reset", help="remove all data but that of the start")
    reset.set_defaults(make=lambda _: _Request("POST", "/v1/reset"))


def run(options: argparse.Namespace) -> int:
    """Send one request, and print its answer."""
    client = ControlClient(options.url)
    if options.what == "requests":
        return _print_requests(client, options)
    make: _Make = options.make
    answer = _asked(client, make(options))
    if isinstance(answer, str):
        print(answer, end="" if answer.endswith("\n") else "\n")
    elif answer != {}:
        print(json.dumps(answer, indent=2, ensure_ascii=False))
    return 0


# -- the words


def _group(
    words: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str
) -> argparse._SubParsersAction[argparse.ArgumentParser]:
    parser = words.add_parser(name, help=text, description=text)
    return parser.add_subparsers(dest="action", metavar="ACTION", required=True)


def _word(
    words: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    make: _Make,
    /,
    **arguments: str,
) -> argparse.ArgumentParser:
    """Add a word with its positional arguments, by name and help."""
    parser = words.add_parser(name, help=text, description=text)
    for argument, told in arguments.items():
        parser.add_argument(argument, metavar=argument.upper(), help=told)
    parser.set_defaults(make=make)
    return parser


def _add_faults(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    of_fault = "the id of a rule, such as f1"
    _word(
        words,
        "add",
        "put a rule in force",
        lambda given: _Request("POST", "/v1/faults", _read(given.rule, parsed_rule)),
        rule="keys=produce,topic=orders,error=NOT_LEADER_OR_FOLLOWER,count=3, or @FILE of JSON",
    )
    _word(words, "list", "print all rules", lambda _: _Request("GET", "/v1/faults"))
    _word(
        words,
        "remove",
        "remove a rule",
        lambda given: _Request("DELETE", f"/v1/faults/{_quoted(given.id)}"),
        id=of_fault,
    )
    _word(words, "clear", "remove all rules", lambda _: _Request("DELETE", "/v1/faults"))
    wait = _word(words, "wait", "wait until a rule has acted", _fault_wait, id=of_fault)
    wait.add_argument("--hits", type=int, default=1, metavar="N", help="so many times [1]")
    _add_timeout(wait)
    release = _word(words, "release", "let held requests go on", _release, id=of_fault)
    release.add_argument("--count", type=int, metavar="N", help="so many of them [all]")


def _add_groups(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    wait = _word(words, "wait", "wait until a group is so", _group_wait, id="of the group")
    wait.add_argument("--state", metavar="STATE", help="such as Stable or Empty")
    for name, text in (
        ("members", "so many members"),
        ("assigned", "so many assigned partitions"),
        ("lag", "so many records behind, at most"),
    ):
        wait.add_argument(f"--{name}", type=int, metavar="N", help=text)
    _add_timeout(wait)
    text = "print what a share group has in flight; wait first if a flag says for what"
    in_flight = _word(words, "in-flight", text, _in_flight, id="of the group")
    for name, text in (
        ("accepted", "so many records are accepted, or more"),
        ("released", "so many records are released, or more"),
        ("rejected", "so many records are rejected, or more"),
        ("in-flight", "so many records are in flight, at most"),
        ("lag", "so many records are not done, at most"),
    ):
        in_flight.add_argument(f"--{name}", type=int, metavar="N", help=text)
    _add_timeout(in_flight)
    text = "print the topology of a streams group, and the tasks of its members"
    _word(words, "tasks", text, _tasks, id="of the group")


def _add_snapshots(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    def at(given: argparse.Namespace, end: str = "") -> str:
        return f"/v1/snapshots/{_quoted(given.name)}{end}"

    name = "of the snapshot"
    _word(words, "save", "save the state", lambda given: _Request("PUT", at(given)), name=name)
    _word(
        words,
        "restore",
        "put a saved state back",
        lambda given: _Request("POST", at(given, "/restore")),
        name=name,
    )
    _word(words, "list", "print all", lambda _: _Request("GET", "/v1/snapshots"))
    _word(words, "remove", "forget it", lambda given: _Request("DELETE", at(given)), name=name)


def _add_brokers(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _word(words, "list", "print all brokers", lambda _: _Request("GET", "/v1/brokers"))
    for action, text in (
        ("down", "let it crash"),
        ("up", "bring it back"),
        ("hang", "let it accept clients, but answer nothing"),
        ("stop", "shut it down"),
    ):
        _word(words, action, text, _broker_state, id="of the broker, such as 2")


def _add_certificates(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    path = "/v1/security/certificates"
    _word(words, "list", "print those of all TLS listeners", lambda _: _Request("GET", path))
    spoil = _word(
        words,
        "spoil",
        "let new clients refuse them",
        lambda given: _Request("PUT", path, _given({"fault": given.fault, "broker": given.broker})),
        fault=", ".join(CERTIFICATE_FAULTS),
    )
    restore = _word(
        words,
        "restore",
        "put the right ones back",
        lambda given: _Request("DELETE", _with_query(path, _given({"broker": given.broker}))),
    )
    for word in (spoil, restore):
        word.add_argument("--broker", type=int, metavar="ID", help="only of this broker [all]")


def _add_acls(words: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    def selected(method: str) -> _Make:
        return lambda given: _Request(method, _with_query("/v1/acls", _selectors(given.selectors)))

    _word(
        words,
        "add",
        "allow or deny something",
        lambda given: _Request("POST", "/v1/acls", _read(given.acl, parsed_rule)),
        acl="resource_type=TOPIC,name=orders,principal=User:alice,operation=READ, or @FILE of JSON",
    )
    for action, method, text in (
        ("list", "GET", "print them"),
        ("remove", "DELETE", "take them away"),
    ):
        word = _word(words, action, text, selected(method))
        word.add_argument(
            "selectors",
            metavar="SELECTORS",
            nargs="?",
            default="",
            help="which ones: principal=User:alice,operation=READ [all]",
        )


def _add_requests(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "selectors",
        metavar="SELECTORS",
        nargs="?",
        default="",
        help="which ones: keys=produce,topic=orders,errors=true",
    )
    parser.add_argument("--follow", action="store_true", help="print new ones until interrupted")
    parser.add_argument("--limit", type=int, metavar="N", help="the last N")


def _add_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout-ms", type=int, metavar="MS", help="how long to wait [30000]")


# -- their requests


def _generic(options: argparse.Namespace) -> _Request:
    text = getattr(options, "body", None)
    if not options.path.startswith("/"):
        raise SettingsError(f"{options.path!r} is no path; write /v1/...")
    return _Request(
        options.what.upper(), options.path, None if text is None else _read(text, parsed_json)
    )


def _fault_wait(options: argparse.Namespace) -> _Request:
    body = _given({"hits": options.hits, "timeout_ms": options.timeout_ms})
    return _Request("POST", f"/v1/faults/{_quoted(options.id)}/wait", body)


def _release(options: argparse.Namespace) -> _Request:
    body = _given({"count": options.count})
    return _Request("POST", f"/v1/faults/{_quoted(options.id)}/release", body)


def _group_wait(options: argparse.Namespace) -> _Request:
    names = ("state", "members", "assigned", "lag", "timeout_ms")
    body = _given({name: getattr(options, name) for name in names})
    return _Request("POST", f"/v1/groups/{_quoted(options.id)}/wait", body)


def _in_flight(options: argparse.Namespace) -> _Request:
    names = ("accepted", "released", "rejected", "in_flight", "lag", "timeout_ms")
    body = _given({name: getattr(options, name) for name in names})
    path = f"/v1/groups/{_quoted(options.id)}/in-flight"
    return _Request("POST", f"{path}/wait", body) if body else _Request("GET", path)


def _tasks(options: argparse.Namespace) -> _Request:
    return _Request("GET", f"/v1/groups/{_quoted(options.id)}/tasks")


def _broker_state(options: argparse.Namespace) -> _Request:
    body = {"state": _STATES[options.action]}
    return _Request("PATCH", f"/v1/brokers/{_quoted(options.id)}", body)


def _print_requests(client: ControlClient, options: argparse.Namespace) -> int:
    query = _selectors(options.selectors) | _given({"limit": options.limit})
    path = _with_query("/v1/requests" + ("/follow" if options.follow else ""), query)
    if not options.follow:
        entries = _asked(client, _Request("GET", path))
        assert isinstance(entries, list)
        for entry in entries:
            print(_line(entry))
        return 0
    try:
        for event in client.events(path):
            print(_line(event))
            sys.stdout.flush()
    except KeyboardInterrupt:
        pass
    return 0


def _selectors(text: str) -> dict[str, object]:
    """Return selectors as the query of a URL has them.

    Raises:
        SettingsError: they are not written as such.
    """
    found = parsed_rule(text) if text else {}
    if not isinstance(found, dict):
        raise SettingsError("write the selectors as NAME=VALUE")
    return {name: _query_value(value) for name, value in found.items()}


def _with_query(path: str, query: Mapping[str, object]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _query_value(value: object) -> object:
    """Return a value as the query of a URL has it."""
    if isinstance(value, list):
        return ",".join(str(each) for each in value)
    return json.dumps(value) if isinstance(value, dict | bool) else value


def _line(entry: object) -> str:
    return str(entry["line"]) if isinstance(entry, dict) and "line" in entry else json.dumps(entry)


def _asked(client: ControlClient, request: _Request) -> object:
    answer = client.request(request.method, request.path, request.body)
    if answer.status != _OK:
        raise ClientError(refusal_text(answer.body))
    return answer.body


def _given(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _quoted(name: str) -> str:
    return quote(name, safe="")


def _read(text: str, parse: Callable[[str], object]) -> object:
    """Return the value of an argument; @FILE and - have JSON.

    Raises:
        SettingsError: the file cannot be read, or the text is wrong.
    """
    if text == "-":
        return parsed_json(sys.stdin.read())
    if not text.startswith("@"):
        return parse(text)
    try:
        return parsed_json(Path(text[1:]).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingsError(f"{text[1:]}: {why}") from None
