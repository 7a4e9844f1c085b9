"""The driver and cqlsh under TLS, with a certificate and without; and logins by certificate."""

import pathlib
import ssl

import pytest
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable
from cassandra.connection import UnixSocketEndPoint
from cassandra.policies import HostFilterPolicy, RoundRobinPolicy

from certificates import IDENTITY, authenticator, make_certificates, options_of
from conftest import Node
from server import Server
from shell import cqlsh, run

LISTED = "SELECT ssl_enabled, ssl_protocol FROM system_views.clients"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    make_certificates(folder)
    return folder


@pytest.fixture(params=["true", "optional", "false"])
def asking(request):
    return request.param


@pytest.fixture(params=[("uring", 2), ("epoll", 1)], ids=lambda pair: f"{pair[0]}-{pair[1]}")
def server(request, folder, asking):
    reactor, shards = request.param
    with Server(reactor, shards, options_of(folder, f"require_client_auth: {asking}")) as server:
        yield server


def context(folder, has_certificate):
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    if has_certificate:
        context.load_cert_chain(folder / "client.crt", folder / "client.key")
    return context


def connect(server, folder, has_certificate, **settings):
    """The driver checks the node's name where it is given one."""
    options = {"server_hostname": "127.0.0.1"}
    return Node(server, 5, "lz4").cluster(ssl_context=context(folder, has_certificate), ssl_options=options, **settings)


def test_a_client_with_a_certificate_is_served(server, folder):
    cluster = connect(server, folder, True)
    rows = list(cluster.connect().execute(LISTED))
    assert rows and all(row.ssl_enabled and row.ssl_protocol == "TLSv1.3" for row in rows)
    cluster.shutdown()


def test_one_without_is_served_unless_a_certificate_is_required(server, folder, asking):
    cluster = connect(server, folder, False)
    if asking == "true":
        with pytest.raises(NoHostAvailable):
            cluster.connect()
    else:
        assert list(cluster.connect().execute(LISTED))
    cluster.shutdown()


def test_a_plain_client_is_told_that_the_port_requires_tls(server, folder):
    cluster = Node(server, 4, None).cluster()
    with pytest.raises(NoHostAvailable, match="This port requires TLS"):
        cluster.connect()
    cluster.shutdown()


def test_cqlsh(server, folder, asking):
    lines = ["[ssl]", f"certfile = {folder / 'ca.crt'}", "validate = true"]
    bare, whole = folder / "bare", folder / "whole"
    bare.write_text("\n".join(lines) + "\n")
    whole.write_text("\n".join([*lines, f"userkey = {folder / 'client.key'}", f"usercert = {folder / 'client.crt'}"]) + "\n")
    assert "True" in cqlsh(server, LISTED, "--ssl", f"--cqlshrc={whole}")
    refused = run(server, "--ssl", f"--cqlshrc={bare}", "-e", LISTED)
    assert (refused.returncode == 0) == (asking != "true"), refused.stdout + refused.stderr


def owner(server):
    """The owner of the process, on the maintenance socket."""
    socket = UnixSocketEndPoint(str(pathlib.Path(server.folder.name) / "maintenance" / "cql.m"))
    policy = HostFilterPolicy(RoundRobinPolicy(), lambda host: host.endpoint == socket)
    profile = ExecutionProfile(load_balancing_policy=policy, request_timeout=30)
    return Node(server, 5, None).cluster(contact_points=[socket], execution_profiles={EXEC_PROFILE_DEFAULT: profile})


def is_refused(cluster, words):
    with pytest.raises(NoHostAvailable, match=words):
        cluster.connect()
    cluster.shutdown()


def test_a_client_logs_in_by_its_certificate_while_its_identity_has_a_role(folder):
    before = authenticator("MutualTlsAuthenticator")
    with Server("uring", 2, options_of(folder, "require_client_auth: true", before=before)) as server:
        of_owner = owner(server)
        admin = of_owner.connect()
        is_refused(connect(server, folder, True), f"Certificate identity .*{IDENTITY}.* not authorized")
        admin.execute("CREATE ROLE client WITH LOGIN = true AND SUPERUSER = true")
        admin.execute(f"ADD IDENTITY '{IDENTITY}' TO ROLE 'client'")
        cluster = connect(server, folder, True)
        session = cluster.connect()
        assert {row.username for row in session.execute("SELECT username FROM system_views.clients")} >= {"client"}
        # As clients of Cassandra 5.0 are set up, whose server asks for an answer: this one is not asked.
        with_provider = connect(server, folder, True, auth_provider=PlainTextAuthProvider("any", "any"))
        assert list(with_provider.connect().execute(LISTED))
        with_provider.shutdown()
        admin.execute(f"DROP IDENTITY '{IDENTITY}'")
        is_refused(connect(server, folder, True), "not authorized")
        assert list(session.execute(LISTED)), "a live session goes on"
        cluster.shutdown()
        of_owner.shutdown()


def test_a_client_without_a_certificate_falls_back_to_its_password(folder):
    before = authenticator("MutualTlsWithPasswordFallbackAuthenticator")
    with Server("epoll", 1, options_of(folder, "require_client_auth: optional", before=before)) as server:
        of_owner = owner(server)
        admin = of_owner.connect()
        admin.execute("CREATE ROLE client WITH LOGIN = true AND PASSWORD = 'secret'")
        password = PlainTextAuthProvider("client", "secret")
        cluster = connect(server, folder, False, auth_provider=password)
        assert cluster.connect().execute("SELECT cluster_name FROM system.local").one()
        cluster.shutdown()
        is_refused(connect(server, folder, True, auth_provider=password), "not authorized")
        is_refused(connect(server, folder, False), "requires authentication")
        of_owner.shutdown()
