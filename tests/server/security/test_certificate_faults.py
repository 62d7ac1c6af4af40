"""Faults of certificates: what a client sees that checks them, and how they end."""

import socket
import ssl
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from anyio.to_thread import run_sync

from broker_lite.errors import SettingsError
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.security.one_word.keep import prepare
from broker_lite.server.security.certificate_faults import CertificateFaults
from broker_lite.server.security.hand_shakes import Turns
from broker_lite.server.security.key_stores import KeyStores
from broker_lite.server.security.tls_listeners import TlsListener, tls_listeners
from broker_lite.settings import Settings, load_settings
from broker_lite.settings.declared.one_word_settings import CERTIFICATE_FAULTS, CertificateFault
from broker_lite.settings.sources.one_word import CA_FILE, secured
from tests.server.conftest import ECHO, Serve, Served, request_frame
from tests.support.certificates import write_certificates, write_server

pytestmark = pytest.mark.anyio

# What OpenSSL calls them: X509_V_ERR_...
CODES: Mapping[CertificateFault, int] = {
    "not_yet_valid": 9,
    "expired": 10,
    "self_signed": 18,
    "unknown_ca": 20,
    "wrong_host": 62,
}


class Scene:
    """A node with a TLS listener."""

    def __init__(self, settings: Settings, folder: Path, ca: Path) -> None:
        self.settings = settings
        self.ca = ca
        self.listeners = tls_listeners(settings, Turns())
        (self.listener,) = self.listeners.values()
        self.faults = CertificateFaults({1: self.listeners}, lambda _: self.settings, folder)

    def seen(self, served: Served) -> str:
        """What a client says of the certificate: a code of OpenSSL, or `fine`."""
        try:
            self.connect(served).close()
        except ssl.SSLCertVerificationError as error:
            return str(error.verify_code)
        return "fine"

    def connect(self, served: Served) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=self.ca)
        sock = socket.create_connection(served.addresses[0], 10)
        try:
            return context.wrap_socket(sock, server_hostname="localhost")
        finally:
            sock.close()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A listener that is secured by one word."""
    given = {"broker.lite.security": "ssl", "listeners": "PLAINTEXT://127.0.0.1:0"}
    settings = load_settings(None, {}, given)
    prepare(settings, tmp_path, time.time())
    return Scene(secured(settings, tmp_path), tmp_path, tmp_path / CA_FILE)


@pytest.fixture
def own(tmp_path: Path) -> Scene:
    """A listener with a key store that somebody else made."""
    files = write_certificates(tmp_path)
    given = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files.server),
    }
    return Scene(load_settings(None, {}, given), tmp_path, files.ca)


async def test_x40_each_fault_is_refused_for_its_own_reason(serve: Serve, scene: Scene) -> None:
    async with serve(listeners=("SSL",), tls=scene.listeners) as served:
        assert await run_sync(scene.seen, served) == "fine"
        found = {}
        for fault in CERTIFICATE_FAULTS:
            await scene.faults.put_in_force(fault)
            found[fault] = int(await run_sync(scene.seen, served))
        assert found == CODES
        scene.faults.put_back()
        assert await run_sync(scene.seen, served) == "fine"


async def test_open_connections_go_on(serve: Serve, scene: Scene) -> None:
    async with serve(listeners=("SSL",), tls=scene.listeners) as served:
        with await run_sync(scene.connect, served) as old:
            await scene.faults.put_in_force("expired")
            assert await run_sync(scene.seen, served) == str(CODES["expired"])
            old.sendall(request_frame(ECHO, b"hello"))
            assert (await run_sync(old.recv, 100))[8:] == b"hello"


async def test_a_session_of_before_does_not_hide_it(serve: Serve, scene: Scene) -> None:
    """A client that resumes a session is shown no certificate."""
    context = ssl.create_default_context(cafile=scene.ca)
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # the ticket is part of the hand-shake

    def connect(served: Served, session: ssl.SSLSession | None = None) -> ssl.SSLSocket:
        sock = socket.create_connection(served.addresses[0], 10)
        with sock:
            return context.wrap_socket(sock, server_hostname="localhost", session=session)

    async with serve(listeners=("SSL",), tls=scene.listeners) as served:
        with await run_sync(connect, served) as first:
            session = first.session
        with await run_sync(connect, served, session) as second:
            assert second.session_reused
        await scene.faults.put_in_force("expired")
        with pytest.raises(ssl.SSLCertVerificationError, match="has expired"):
            await run_sync(connect, served, session)
        scene.faults.put_back()
        (await run_sync(connect, served, session)).close()


@pytest.mark.parametrize("fault", CERTIFICATE_FAULTS)
async def test_without_the_key_of_the_ca_it_is_there_or_refused(
    serve: Serve, own: Scene, fault: CertificateFault
) -> None:
    async with serve(listeners=("SSL",), tls=own.listeners) as served:
        if fault in ("self_signed", "unknown_ca"):
            await own.faults.put_in_force(fault)
            assert await run_sync(own.seen, served) == str(CODES[fault])
            return
        with pytest.raises(SettingsError, match=f"listener SSL: .*{fault} needs the key"):
            await own.faults.put_in_force(fault)
        assert await run_sync(own.seen, served) == "fine"


async def test_x66_a_new_key_store_counts_from_the_end_of_a_fault_on(
    serve: Serve, own: Scene, tmp_path: Path
) -> None:
    new = write_server(tmp_path / "new.pem", "localhost", "127.0.0.1")
    names = ("ssl.allow.dn.changes", "ssl.allow.san.changes")
    own = Scene(
        load_settings(
            overrides={
                **{name: each.text for name, each in own.settings.given.items()},
                **dict.fromkeys(names, "true"),
            }
        ),
        tmp_path,
        own.ca,
    )
    stores = KeyStores(own.listeners, RateLimitedLog(lambda: 0))
    async with serve(listeners=("SSL",), tls=own.listeners) as served:
        await own.faults.put_in_force("self_signed")
        location = {"listener.name.ssl.ssl.keystore.location": str(tmp_path / "new.pem")}
        changed = own.settings.with_dynamic(location)
        (await stores.read(own.settings, changed, may_reload=True))()
        assert await run_sync(own.seen, served) == str(CODES["self_signed"])
        own.faults.put_back()
        with await run_sync(own.connect, served) as sock:
            assert sock.getpeercert(binary_form=True) == new


async def test_clients_are_asked_for_what_they_were_asked_for(tmp_path: Path) -> None:
    given = {"broker.lite.security": "mtls", "listeners": "PLAINTEXT://127.0.0.1:0"}
    settings = load_settings(None, {}, given)
    prepare(settings, tmp_path, time.time())
    scene = Scene(secured(settings, tmp_path), tmp_path, tmp_path / CA_FILE)
    await scene.faults.put_in_force("expired")
    assert scene.listener.offered is not scene.listener.context
    assert scene.listener.offered.verify_mode is ssl.CERT_REQUIRED
    assert scene.listener.offered.get_ca_certs() == scene.listener.context.get_ca_certs()


def _listeners(scene: Scene) -> Mapping[int, Mapping[str, TlsListener]]:
    return {node_id: tls_listeners(scene.settings, Turns()) for node_id in (1, 2, 3)}


async def test_one_node_of_several(own: Scene, tmp_path: Path) -> None:
    faults = CertificateFaults(_listeners(own), lambda _: own.settings, tmp_path)

    def found() -> list[int]:
        return [each.node_id for each in faults.places() if each.listener.faulty is not None]

    await faults.put_in_force("self_signed", 2)
    assert found() == [2]
    await faults.put_in_force("self_signed")
    assert found() == [1, 2, 3]
    faults.put_back(1)
    assert found() == [2, 3]
    faults.put_back()
    assert found() == []


async def test_the_fault_of_the_start_comes_back(own: Scene) -> None:
    own.faults.begin("unknown_ca")

    def fault() -> str | None:
        return None if own.listener.faulty is None else own.listener.faulty.fault

    assert fault() == "unknown_ca"
    await own.faults.put_in_force("self_signed")
    assert fault() == "self_signed"
    own.faults.put_back_as_at_start()
    assert fault() == "unknown_ca"
    own.faults.put_back()
    assert fault() is None


def test_a_certificate_without_names_gets_those_of_the_machine(tmp_path: Path) -> None:
    write_server(tmp_path / "nameless.pem", common_name="nameless")
    given = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tmp_path / "nameless.pem"),
    }
    scene = Scene(load_settings(None, {}, given), tmp_path, tmp_path)
    scene.faults.begin("self_signed")
    assert scene.listener.faulty is not None
    (entry,) = scene.listener.faulty.context.entries
    assert b"localhost" in entry.certificate
