"""What both Python drivers make of a ring of three nodes, of which some are killed. `ring.py` runs the ring, and `cargo xtask drivers` runs both."""

import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import ConstantReconnectionPolicy, HostStateListener, RoundRobinPolicy
from cassandra.query import SimpleStatement

# No wait for a condition takes as long on any machine.
HUNG_SECONDS = 60
TOKENS = 16
NODES = [address.rsplit(":", 1) for address in os.environ.get("HELENUS_RING", "").split(",") if address]
HOSTS = [host for host, _ in NODES]
# Each node has an answer of its own.
ANY_NODE = SimpleStatement("SELECT host_id FROM system.local", is_idempotent=True)


def ring(*words):
    """Has the ring carry out a command."""
    program = pathlib.Path(__file__).with_name("ring.py")
    subprocess.run([sys.executable, program, *words], check=True)


def wait_for(what, condition):
    deadline = time.monotonic() + HUNG_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.01)


def connect_through(host):
    """A cluster object that knows one node. What the driver would wait for at random is no part of the tests."""
    profile = ExecutionProfile(load_balancing_policy=RoundRobinPolicy(), request_timeout=30)
    return Cluster(
        contact_points=[host], port=int(NODES[0][1]), execution_profiles={EXEC_PROFILE_DEFAULT: profile}, protocol_version=4,
        reconnection_policy=ConstantReconnectionPolicy(0.05, None), status_event_refresh_window=0, topology_event_refresh_window=0,
        schema_event_refresh_window=0, idle_heartbeat_interval=1)


def described(cluster):
    """What the driver knows of each node, by address."""
    tokens = {host: [] for host in cluster.metadata.all_hosts()}
    for token, host in cluster.metadata.token_map.token_to_host_owner.items():
        tokens[host].append(token.value)
    return {host.address: (host.host_id, host.datacenter, host.rack, sorted(tokens[host])) for host in tokens}


def is_up(cluster, hosts):
    return all(host.is_up for host in cluster.metadata.all_hosts() if host.address in hosts)


class Listener(HostStateListener):
    def __init__(self):
        self.heard = []

    def on_up(self, host):
        self.heard.append(("up", host.address))

    def on_down(self, host):
        self.heard.append(("down", host.address))

    def on_add(self, host):
        self.heard.append(("add", host.address))

    def on_remove(self, host):
        self.heard.append(("remove", host.address))


@pytest.fixture(scope="module")
def session():
    """A session through the first node."""
    assert len(HOSTS) == 3, "HELENUS_RING names no three nodes: `cargo xtask drivers` starts them"
    ring("settle")
    cluster = connect_through(HOSTS[0])
    yield cluster.connect()
    cluster.shutdown()


def test_each_node_alone_leads_to_all_three(session):
    known = described(session.cluster)
    assert sorted(known) == sorted(HOSTS)
    assert len({host_id for host_id, _, _, _ in known.values()}) == 3
    assert {(datacenter, rack) for _, datacenter, rack, _ in known.values()} == {("datacenter1", "rack1")}
    assert [len(tokens) for _, _, _, tokens in known.values()] == [TOKENS] * 3
    assert len({token for _, _, _, tokens in known.values() for token in tokens}) == 3 * TOKENS
    for host in HOSTS:
        with connect_through(host) as cluster:
            cluster.connect()
            assert described(cluster) == known, host
            wait_for("all nodes are up", lambda: is_up(cluster, HOSTS))


def test_the_schema_of_one_node_is_that_of_all(session):
    session.execute("DROP KEYSPACE IF EXISTS ring")
    future = session.execute_async(
        "CREATE KEYSPACE ring WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}", host=node(session, HOSTS[0]))
    future.result()
    assert future.is_schema_agreed
    session.execute("CREATE TABLE ring.made (a int PRIMARY KEY, b text)", host=node(session, HOSTS[1]))
    # The first question after the answer.
    versions = {session.execute("SELECT schema_version FROM system.local", host=node(session, host)).one()[0] for host in HOSTS}
    assert len(versions) == 1
    for number, host in enumerate(HOSTS):
        session.execute("INSERT INTO ring.made (a, b) VALUES (%s, %s)", (number, host), host=node(session, host))
        assert session.execute("SELECT b FROM ring.made WHERE a = %s", (number,), host=node(session, host)).one().b == host
    wait_for("the driver knows the table", lambda: "made" in session.cluster.metadata.keyspaces["ring"].tables)
    session.execute("DROP KEYSPACE ring")


def node(session, address):
    return next(host for host in session.cluster.metadata.all_hosts() if host.address == address)


def test_a_node_that_is_killed_and_back_is_one_down_and_one_up(session):
    known, listener = described(session.cluster), Listener()
    wait_for("all nodes are up", lambda: is_up(session.cluster, HOSTS))
    session.cluster.register_listener(listener)
    ring("kill", "2")
    # It disregards DOWN while it has a connection open, and looks at one that was closed when it uses that next.
    wait_for("the driver hears of the end", lambda: session.execute(ANY_NODE) and listener.heard)
    assert listener.heard == [("down", HOSTS[1])]
    ring("start")
    ring("settle")
    wait_for("the driver hears of the start", lambda: is_up(session.cluster, HOSTS) and len(listener.heard) > 1)
    assert described(session.cluster) == known
    session.cluster.unregister_listener(listener)
    assert listener.heard == [("down", HOSTS[1]), ("up", HOSTS[1])]


def test_the_control_connection_fails_over(session):
    cluster, first = session.cluster, HOSTS[0]
    known = described(cluster)
    assert cluster.get_control_connection_host().address == first
    killing = threading.Thread(target=ring, args=("kill", "1"))
    killing.start()
    coordinators = set()

    def has_failed_over():
        # None of these fails: the driver asks another node.
        coordinators.add(session.execute(ANY_NODE).one().host_id)
        control = cluster.get_control_connection_host()
        return not killing.is_alive() and control is not None and control.address != first

    wait_for("another control connection", has_failed_over)
    killing.join()
    coordinators.clear()
    wait_for("both other nodes answer", lambda: coordinators.add(session.execute(ANY_NODE).one().host_id) or len(coordinators) == 2)
    assert known[first][0] not in coordinators
    assert described(cluster) == known
    cluster.refresh_nodes()
    assert described(cluster) == known
    ring("start")
    wait_for("all nodes are up", lambda: is_up(cluster, HOSTS))
    assert described(cluster) == known
