"""Fixtures: a server per configuration, and sessions on it."""

import os
import pathlib

import pytest
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import RoundRobinPolicy

from server import Server

# All lines, or those that `cargo xtask drivers` has chosen for this run.
TABLE = os.environ.get("HELENUS_CONFIGURATIONS_FILE") or pathlib.Path(__file__).parents[1] / "configurations.txt"
LINES = pathlib.Path(TABLE).read_text().splitlines()


def configuration(line):
    suites, reactor, shards, protocol, compression = line.split()
    return reactor, int(shards), int(protocol), None if compression == "none" else compression


CONFIGURATIONS = [configuration(line) for line in LINES if line.startswith("full ")]


def name(configuration):
    reactor, shards, protocol, compression = configuration
    return f"{reactor}-{shards}-v{protocol}-{compression or 'plain'}"


class Node:
    """A running server and how to talk to it."""

    def __init__(self, server, protocol, compression):
        self.server, self.protocol, self.compression = server, protocol, compression

    def cluster(self, **options):
        # With one node the policy chooses nothing; naming it keeps the driver from warning about the missing datacenter.
        profile = ExecutionProfile(load_balancing_policy=RoundRobinPolicy(), request_timeout=30)
        settings = dict(
            contact_points=[self.server.host], port=self.server.port, protocol_version=self.protocol,
            compression=self.compression or False, execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        )
        settings.update(options)
        return Cluster(**settings)


@pytest.fixture(scope="module", params=CONFIGURATIONS, ids=name)
def node(request):
    reactor, shards, protocol, compression = request.param
    with Server(reactor, shards) as server:
        yield Node(server, protocol, compression)


@pytest.fixture(scope="module")
def session(node):
    cluster = node.cluster()
    session = cluster.connect()
    session.execute("DROP KEYSPACE IF EXISTS tested")
    session.execute("CREATE KEYSPACE tested WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.set_keyspace("tested")
    yield session
    cluster.shutdown()
