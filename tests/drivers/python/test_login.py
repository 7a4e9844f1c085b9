"""The driver and cqlsh with passwords: the first superuser, right and wrong passwords, and what a client without one hears."""

import pathlib
import stat

import pytest
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable
from cassandra.connection import UnixSocketEndPoint
from cassandra.policies import HostFilterPolicy, RoundRobinPolicy

from conftest import CONFIGURATIONS, Node, name
from server import PASSWORDS, SUPERUSER, Server
from shell import run

LISTED = "SELECT username, connection_stage, driver_name FROM system_views.clients"


@pytest.fixture(scope="module", params=CONFIGURATIONS, ids=name)
def node(request):
    reactor, shards, protocol, compression = request.param
    with Server(reactor, shards, PASSWORDS) as server:
        yield Node(server, protocol, compression)


def password(node):
    """What the first start has written for the operator."""
    file = pathlib.Path(node.server.folder.name) / "initial-superuser"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    role, line = file.read_text().splitlines()
    assert role == "role: cassandra"
    return line.removeprefix("password: ")


def connected(node, user, secret):
    return node.cluster(auth_provider=PlainTextAuthProvider(user, secret))


def test_the_first_superuser_logs_in(node):
    cluster = connected(node, "cassandra", password(node))
    session = cluster.connect()
    rows = list(session.execute(LISTED))
    assert rows and all(row.username == "cassandra" and row.connection_stage == "ready" for row in rows)
    session.execute("CREATE KEYSPACE IF NOT EXISTS of_login WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE IF NOT EXISTS of_login.t (k int PRIMARY KEY, v text)")
    prepared = session.prepare("INSERT INTO of_login.t (k, v) VALUES (?, ?)")
    for k in range(100):
        session.execute(prepared, (k, "x" * k))
    assert session.execute("SELECT count(*) FROM of_login.t").one()[0] == 100
    cluster.shutdown()


@pytest.mark.parametrize("user, secret", [("cassandra", "wrong"), ("nobody", "wrong"), ("nobody", "cassandra")])
def test_wrong_names_and_wrong_passwords_hear_the_same(node, user, secret):
    cluster = connected(node, user, secret)
    with pytest.raises(NoHostAvailable, match=f"Provided username {user} and/or password are incorrect"):
        cluster.connect()
    cluster.shutdown()


def test_a_client_without_a_password_hears_that_it_needs_one(node):
    cluster = node.cluster()
    with pytest.raises(NoHostAvailable, match="requires authentication"):
        cluster.connect()
    cluster.shutdown()


def test_cqlsh(node):
    # It says on standard error that a password on the command line can be seen.
    listed = run(node.server, "-u", "cassandra", "-p", password(node), "-e", LISTED)
    assert listed.returncode == 0 and "cassandra" in listed.stdout, listed.stdout + listed.stderr
    refused = run(node.server, "-u", "cassandra", "-p", "wrong", "-e", LISTED)
    assert refused.returncode != 0
    assert "Provided username cassandra and/or password are incorrect" in refused.stdout + refused.stderr
    assert run(node.server, "-e", LISTED).returncode != 0


def test_a_name_and_a_hash_of_the_command_line():
    with Server("uring", 2, PASSWORDS + SUPERUSER) as server:
        node = Node(server, 5, "lz4")
        assert not (pathlib.Path(server.folder.name) / "initial-superuser").exists()
        cluster = connected(node, "admin", "a password of the tests")
        assert list(cluster.connect().execute(LISTED))
        cluster.shutdown()
        cluster = connected(node, "cassandra", "cassandra")
        with pytest.raises(NoHostAvailable, match="Provided username cassandra and/or password are incorrect"):
            cluster.connect()
        cluster.shutdown()


def test_the_owner_of_the_process_needs_no_password(node):
    socket = UnixSocketEndPoint(str(pathlib.Path(node.server.folder.name) / "maintenance" / "cql.m"))
    policy = HostFilterPolicy(RoundRobinPolicy(), lambda host: host.endpoint == socket)
    profile = ExecutionProfile(load_balancing_policy=policy, request_timeout=30)
    cluster = node.cluster(contact_points=[socket], execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    session = cluster.connect()
    assert session.execute("SELECT cluster_name FROM system.local").one().cluster_name == "Test Cluster"
    session.execute("CREATE ROLE locked_out WITH PASSWORD = 'lost' AND LOGIN = true")
    session.execute("ALTER ROLE locked_out WITH PASSWORD = 'found'")
    found = connected(node, "locked_out", "found")
    assert found.connect()
    found.shutdown()
    session.execute("DROP ROLE locked_out")
    cluster.shutdown()


def test_a_role_that_a_statement_made_logs_in_until_it_may_not(node):
    admin = connected(node, "cassandra", password(node))
    session = admin.connect()
    session.execute("CREATE ROLE app WITH PASSWORD = 'first' AND LOGIN = true")
    app = connected(node, "app", "first")
    assert app.connect().execute("SELECT cluster_name FROM system.local").one()
    app.shutdown()
    # The verification of the former password is remembered, and means nothing for another hash.
    session.execute("ALTER ROLE app WITH PASSWORD = 'second'")
    for secret, words in [("first", "Provided username app and/or password are incorrect"), ("second", None)]:
        cluster = connected(node, "app", secret)
        if words is None:
            assert cluster.connect()
        else:
            with pytest.raises(NoHostAvailable, match=words):
                cluster.connect()
        cluster.shutdown()
    session.execute("ALTER ROLE app WITH LOGIN = false")
    cluster = connected(node, "app", "second")
    with pytest.raises(NoHostAvailable, match="app is not permitted to log in"):
        cluster.connect()
    cluster.shutdown()
    session.execute("DROP ROLE app")
    admin.shutdown()
