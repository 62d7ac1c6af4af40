"""Key stores that change while a node runs: who gets which certificate, and what is refused."""

import socket
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from anyio.to_thread import run_sync

from broker_lite.errors import InvalidRequest
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.server.security.hand_shakes import Turns
from broker_lite.server.security.key_stores import KeyStores
from broker_lite.server.security.tls_listeners import tls_listeners
from broker_lite.settings import Settings, load_settings
from tests.server.conftest import ECHO, Serve, Served, request_frame
from tests.support.certificates import write_certificates, write_server

pytestmark = pytest.mark.anyio

PREFIX = "listener.name.ssl.ssl.keystore."
_REFUSED = (
    "Invalid value org.apache.kafka.common.config.ConfigException: Validation of dynamic config"
    " update of SSLFactory failed: org.apache.kafka.common.{} for configuration Invalid dynamic"
    " configuration"
)


class Scene:
    """A listener, its stores, and files for others."""

    def __init__(self, folder: Path, **more: str) -> None:
        self.folder = folder
        self.ca = write_certificates(folder).ca
        self.first = write_server(folder / "first.pem", "localhost", "127.0.0.1")
        self.second = write_server(folder / "second.pem", "localhost", "127.0.0.1")
        self.settings = load_settings(
            overrides={
                "listeners": "SSL://127.0.0.1:0",
                "ssl.keystore.type": "PEM",
                "ssl.truststore.type": "PEM",
                "ssl.keystore.location": str(folder / "first.pem"),
                **{name.replace("_", "."): text for name, text in more.items()},
            }
        )
        listeners = tls_listeners(self.settings, Turns())
        self.stores = KeyStores(listeners, RateLimitedLog(lambda: 0))

    async def change(
        self, new: Mapping[str, str], *, before: Settings | None = None, may_reload: bool = True
    ) -> None:
        """Read what the settings name, and use it."""
        settings = before or self.settings
        use = await self.stores.read(settings, settings.with_dynamic(new), may_reload=may_reload)
        use()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def _connect(served: Served, ca: Path) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=ca)
    sock = socket.create_connection(served.addresses[0], 10)
    return context.wrap_socket(sock, server_hostname="localhost")


def _certificate(served: Served, ca: Path) -> bytes | None:
    with _connect(served, ca) as sock:
        return sock.getpeercert(binary_form=True)


def _ask(sock: ssl.SSLSocket) -> bytes:
    sock.sendall(request_frame(ECHO, b"hello"))
    return sock.recv(100)[8:]


async def test_new_connections_get_the_new_certificate_x66(serve: Serve, scene: Scene) -> None:
    async with serve(listeners=("SSL",), tls=scene.stores.listeners) as served:
        old = await run_sync(_connect, served, scene.ca)
        with old:
            assert old.getpeercert(binary_form=True) == scene.first
            await scene.change({PREFIX + "location": str(scene.folder / "second.pem")})
            assert await run_sync(_ask, old) == b"hello"
            assert await run_sync(_certificate, served, scene.ca) == scene.second


async def test_files_are_read_in_a_thread_x66(scene: Scene) -> None:
    seen: list[int] = []
    location = str(scene.folder / "second.pem")

    class Told(dict[str, str]):
        def __getitem__(self, name: str) -> str:
            if name == PREFIX + "location":
                seen.append(threading.get_ident())
            return super().__getitem__(name)

    await scene.change(Told({PREFIX + "location": location}))
    assert set(seen) - {threading.get_ident()}


@pytest.mark.parametrize(
    ("new", "text"),
    [
        (
            {"location": "{}/none.pem"},
            "errors.InvalidConfigurationException: Failed to load PEM SSL keystore {}/none.pem",
        ),
        (
            {"location": "{}/ca.pem"},
            "errors.InvalidConfigurationException: Failed to load PEM SSL keystore {}/ca.pem",
        ),
        (
            {"location": "{}/ca.pem", "type": "JKS", "password": "changeit"},
            "KafkaException: Failed to load SSL keystore {}/ca.pem of type JKS",
        ),
        (
            {"password": "hunter2"},
            "errors.InvalidConfigurationException: SSL key store password cannot be specified with"
            " PEM format, only key password may be specified",
        ),
        (
            {"location": "{}/other.pem"},
            "config.ConfigException: Keystore DistinguishedName does not match:  existing={{"
            "alias=kafka, DN=CN=broker, OU=unit, O=acme}}, new={{alias=kafka, DN=CN=other, OU=unit,"
            " O=acme}}",
        ),
    ],
)
async def test_what_is_refused_x66(scene: Scene, new: dict[str, str], text: str) -> None:
    write_server(scene.folder / "other.pem", "localhost", "127.0.0.1", common_name="other")
    context = scene.stores.listeners["SSL"].context
    with pytest.raises(InvalidRequest) as caught:
        await scene.change({PREFIX + k: v.format(scene.folder) for k, v in new.items()})
    assert str(caught.value) == _REFUSED.format(text.format(*[scene.folder] * 2))
    assert scene.stores.listeners["SSL"].context is context


async def test_names_may_change_where_settings_say_so_x66(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ssl_allow_dn_changes="true", ssl_allow_san_changes="true")
    new = write_server(tmp_path / "other.pem", "elsewhere", common_name="other")
    await scene.change({PREFIX + "location": str(tmp_path / "other.pem")})
    (entry,) = scene.stores.listeners["SSL"].context.entries
    assert entry.certificate == new


async def test_a_file_that_has_changed_is_read_again_x66(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    listener, file = scene.stores.listeners["SSL"], scene.folder / "first.pem"
    first = listener.context
    await scene.change({})
    assert listener.context is first
    file.write_bytes((scene.folder / "second.pem").read_bytes())
    await scene.change({}, may_reload=False)
    assert listener.context is first
    await scene.change({})
    second = listener.context
    assert [one.certificate for one in second.entries] == [scene.second]
    file.write_text("garbage")
    await scene.change({})
    assert listener.context is second
    assert "listener SSL keeps its certificate: ssl.keystore.location: " in caplog.text


async def test_what_is_no_store_stays_as_at_the_start(scene: Scene) -> None:
    new = {"ssl.client.auth": "required", "ssl.enabled.protocols": "TLSv1.2"}
    changed = {PREFIX + "location": str(scene.folder / "second.pem"), **new}
    await scene.change(changed)
    context = scene.stores.listeners["SSL"].context
    assert context.verify_mode is ssl.CERT_NONE
    assert context.maximum_version == ssl.TLSVersion.TLSv1_3


async def test_a_dynamic_store_that_cannot_be_used_does_not_stop_the_start_x66(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    settings = scene.settings.with_dynamic({PREFIX + "location": "/none"})
    (listener,) = tls_listeners(settings, Turns()).values()
    assert [one.certificate for one in listener.context.entries] == [scene.first]
    assert "listener SSL: its dynamic configs cannot be used" in caplog.text
