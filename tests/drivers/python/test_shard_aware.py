"""scylla-driver sends each request to the shard that owns its key, and the server agrees on which one that is."""

import re

import pytest
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, ShardAwareOptions
from cassandra.policies import RoundRobinPolicy, TokenAwarePolicy

from conftest import Node
from server import Server

SHARDS = 2
REQUESTS = 1000
IGNORED_BITS = 12


def owner(token):
    """ScyllaDB's biased token round robin, computed here and not by the driver: both sides are compared with a third."""
    biased = ((token + 2**63) << IGNORED_BITS) % 2**64
    return (biased * SHARDS) >> 64


@pytest.fixture(scope="module", params=[("uring", 4), ("epoll", 4)], ids=lambda pair: f"{pair[0]}-v{pair[1]}")
def session(request):
    reactor, protocol = request.param
    with Server(reactor, SHARDS) as server:
        profile = ExecutionProfile(load_balancing_policy=TokenAwarePolicy(RoundRobinPolicy()), request_timeout=30)
        cluster = Node(server, protocol, None).cluster(execution_profiles={EXEC_PROFILE_DEFAULT: profile})
        session = cluster.connect()
        session.execute("CREATE KEYSPACE owned WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE owned.t (a int PRIMARY KEY, b int)")
        yield session
        cluster.shutdown()


def test_the_driver_holds_a_connection_to_every_shard(session):
    assert session.cluster.is_shard_aware()
    statistics = next(iter(session.cluster.shard_aware_stats().values()))
    assert (statistics["shards_count"], statistics["connected"]) == (SHARDS, SHARDS)


def test_each_request_reaches_the_shard_of_its_key(session):
    insert = session.prepare("INSERT INTO owned.t (a, b) VALUES (?, ?)")
    select = session.prepare("SELECT b FROM owned.t WHERE a = ?")
    token_of = session.cluster.metadata.token_map.token_class.from_key
    seen = set()
    for index in range(REQUESTS):
        for statement, values in ((insert, (index, index)), (select, (index,))):
            future = session.execute_async(statement, values)
            future.result()
            connection = future._connection
            expected = owner(token_of(index.to_bytes(4, "big")).value)
            assert connection.features.shard_id == expected, f"key {index} went to shard {connection.features.shard_id}"
            seen.add(expected)
    assert seen == set(range(SHARDS))


@pytest.mark.parametrize("aware", [True, False])
def test_the_servers_own_count_of_crossings(aware):
    """Each shard says at its end how many calls it sent to others. Without the driver's help half of the requests cross, which shows
    that the count can rise."""
    with Server("uring", SHARDS) as server:
        profile = ExecutionProfile(load_balancing_policy=TokenAwarePolicy(RoundRobinPolicy()), request_timeout=30)
        options = ShardAwareOptions(disable=not aware)
        cluster = Node(server, 4, None).cluster(execution_profiles={EXEC_PROFILE_DEFAULT: profile}, shard_aware_options=options)
        session = cluster.connect()
        session.execute("CREATE KEYSPACE owned WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE owned.t (a int PRIMARY KEY, b int)")
        insert = session.prepare("INSERT INTO owned.t (a, b) VALUES (?, ?)")
        select = session.prepare("SELECT b FROM owned.t WHERE a = ?")
        for index in range(REQUESTS):
            session.execute(insert, (index, index))
            assert session.execute(select, (index,)).one().b == index
        cluster.shutdown()
    crossed = sum(int(found.group(1)) for line in server.lines if (found := re.search(r" shard totals at shutdown .*crossed=(\d+)", line)))
    if aware:
        assert crossed < REQUESTS / 20, f"{crossed} calls crossed"
    else:
        assert crossed > REQUESTS / 2, f"only {crossed} calls crossed"
