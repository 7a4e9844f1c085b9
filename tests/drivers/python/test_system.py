"""System tables as drivers and tools read them: pages, the node's clients and settings, peers."""

import itertools

import pytest
from cassandra import InvalidRequest
from cassandra.query import SimpleStatement

TABLES = ["system_schema.columns", "system_schema.tables", "system_virtual_schema.columns", "system_views.settings"]


@pytest.mark.parametrize("table", TABLES)
def test_pages_of_a_system_table_are_its_rows(session, table):
    whole = [tuple(row) for row in session.execute(SimpleStatement(f"SELECT * FROM {table}", fetch_size=None))]
    for size in [1, 7, 100]:
        result = session.execute(SimpleStatement(f"SELECT * FROM {table}", fetch_size=size))
        assert len(result.current_rows) == min(size, len(whole)) and result.has_more_pages == (size <= len(whole))
        assert [tuple(row) for row in result] == whole


def test_clients_are_those_that_are_connected(session, node):
    before = session.execute("SELECT request_count FROM system_views.clients WHERE driver_name = 'x' ALLOW FILTERING").one()
    assert before is None
    clients = list(session.execute("SELECT * FROM system_views.clients"))
    pools = session.get_pool_state()
    connected = sum(state["open_count"] for state in pools.values())
    # The session's connections and the one that its cluster listens on for events.
    assert len(clients) == connected + 1
    for client in clients:
        assert client.address == node.server.host and client.connection_stage == "ready" and not client.ssl_enabled
        assert client.driver_name and client.driver_version and client.username == "anonymous"
        assert client.client_options["DRIVER_NAME"] == client.driver_name
        assert client.protocol_version == node.protocol and client.request_count >= 1
    assert len({client.port for client in clients}) == len(clients)
    other = node.cluster()
    try:
        other.connect("tested")
        listed = list(session.execute("SELECT port, keyspace_name FROM system_views.clients"))
        assert len(listed) > len(clients) and any(row.keyspace_name == "tested" for row in listed)
    finally:
        other.shutdown()


def test_settings_are_those_that_it_runs_with(session, node):
    settings = {row.name: row.value for row in session.execute("SELECT name, value FROM system_views.settings")}
    assert settings["cluster_name"] == "Test Cluster" and settings["rpc_address"] == node.server.host
    assert settings["partitioner"] == "org.apache.cassandra.dht.Murmur3Partitioner"
    assert settings["commitlog_sync"] in ("group", "periodic", "batch")
    one = session.execute("SELECT value FROM system_views.settings WHERE name = 'cluster_name'").one()
    assert one.value == "Test Cluster"


def test_what_is_not_under_way_is_not_shown(session):
    for table in ["sstable_tasks", "snapshots", "streaming", "pending_hints"]:
        assert list(session.execute(f"SELECT * FROM system_views.{table}")) == []


def test_a_node_alone_has_no_peers(session):
    assert list(session.execute("SELECT * FROM system.peers")) == list(session.execute("SELECT * FROM system.peers_v2")) == []
    local = session.execute("SELECT * FROM system.local").one()
    assert (local.key, local.bootstrapped, local.partitioner) == ("local", "COMPLETED", "org.apache.cassandra.dht.Murmur3Partitioner")
    assert local.host_id and len(local.tokens) >= 1 and local.schema_version


def test_what_the_virtual_schema_lists_can_be_read(session):
    described = list(session.execute("SELECT keyspace_name, table_name, column_name FROM system_virtual_schema.columns"))
    for (keyspace, table), columns in itertools.groupby(described, key=lambda row: (row.keyspace_name, row.table_name)):
        result = session.execute(SimpleStatement(f"SELECT * FROM {keyspace}.{table} LIMIT 3", fetch_size=10))
        assert sorted(result.column_names) == sorted(column.column_name for column in columns)
        with pytest.raises(InvalidRequest):
            session.execute(f"SELECT nothing FROM {keyspace}.{table}")
