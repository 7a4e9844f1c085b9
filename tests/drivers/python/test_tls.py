"""The driver and cqlsh under TLS, with a certificate and without."""

import ssl

import pytest
from cassandra.cluster import NoHostAvailable

from certificates import make_certificates, options_of
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


def connect(server, folder, has_certificate):
    """The driver checks the node's name where it is given one."""
    options = {"server_hostname": "127.0.0.1"}
    return Node(server, 5, "lz4").cluster(ssl_context=context(folder, has_certificate), ssl_options=options)


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
