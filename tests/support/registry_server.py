"""A small schema registry on the loopback, which answers as Confluent's does.

Subjects, versions, ids that are shared by equal schemas, references, basic authentication; and
answers that are wrong or late on command.
"""

import base64
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote, urlsplit

Answer = tuple[int, Any]
NOT_FOUND: Answer = (404, {"error_code": 40403, "message": "Schema not found"})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up."""


class RegistryServer:
    """A context manager; `url` is where it listens.

    Args:
        user_info: USER:PASSWORD that every request has to bring, empty for none.
    """

    def __init__(self, user_info: str = "") -> None:
        self.requests: list[str] = []
        self.faults: list[Callable[[BaseHTTPRequestHandler], None]] = []
        # The real one prints descriptors as texts; here who registers says what they are.
        self.texts: dict[str, str] = {}
        self._expected = base64.b64encode(user_info.encode()).decode() if user_info else ""
        self._schemas: list[dict[str, Any]] = []
        self._subjects: dict[str, list[int]] = {}
        self._lock = threading.Lock()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry._serve(self, None)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                registry._serve(self, json.loads(body))

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def secure(self, context: ssl.SSLContext) -> None:
        """Speak TLS from the next connection on."""
        # The handshake is left to the thread of the connection: one that fails ends that alone.
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )

    def register(self, subject: str, text: str, kind: str = "AVRO", references: Any = ()) -> int:
        """Add a version to a subject; return the id of its schema."""
        schema = {
            "schema": self.texts.get(text, text),
            "schemaType": kind,
            "references": list(references),
        }
        with self._lock:
            if schema not in self._schemas:
                self._schemas.append(schema)
            schema_id = self._schemas.index(schema) + 1
            versions = self._subjects.setdefault(subject, [])
            if schema_id not in versions:
                versions.append(schema_id)
        return schema_id

    def _serve(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        self.requests.append(f"{handler.command} {handler.path}")
        if self.faults:
            self.faults.pop(0)(handler)
            return
        if self._expected and handler.headers.get("Authorization") != f"Basic {self._expected}":
            send(handler, 401, {"error_code": 401, "message": "Unauthorized"})
            return
        words = [unquote(word) for word in urlsplit(handler.path).path.strip("/").split("/")]
        send(handler, *self._answer(words, body))

    def _answer(self, words: list[str], body: Any) -> Answer:
        match words:
            case ["schemas", "ids", text]:
                number = int(text) - 1
                if not 0 <= number < len(self._schemas):
                    return NOT_FOUND
                # As the real one: Avro is not named, and empty references are left out.
                schema = dict(self._schemas[number])
                if schema["schemaType"] == "AVRO":
                    del schema["schemaType"]
                return 200, {key: value for key, value in schema.items() if value}
            case ["subjects", subject, "versions", version] if body is None:
                return self._version(subject, version)
            case ["subjects", subject, "versions"] | ["subjects", subject]:
                kind = body.get("schemaType", "AVRO")
                found = self.register(subject, body["schema"], kind, body.get("references") or ())
                versions = self._subjects[subject]
                return 200, {
                    **self._schemas[found - 1],
                    "id": found,
                    "subject": subject,
                    "version": versions.index(found) + 1,
                }
        return NOT_FOUND

    def _version(self, subject: str, version: str) -> Answer:
        ids = self._subjects.get(subject, [])
        number = len(ids) if version == "latest" else int(version)
        if not 0 < number <= len(ids):
            return NOT_FOUND
        found = {"subject": subject, "version": number, "id": ids[number - 1]}
        return 200, found | self._schemas[ids[number - 1] - 1]


def send(handler: BaseHTTPRequestHandler, status: int, answer: Any) -> None:
    """Answer with JSON, or with bytes as they are."""
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def answering(status: int, answer: Any) -> Callable[[BaseHTTPRequestHandler], None]:
    """Return a fault: this answer, whatever was asked."""
    return lambda handler: send(handler, status, answer)
