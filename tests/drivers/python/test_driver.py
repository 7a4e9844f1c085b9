"""What both Python drivers do all day: metadata, prepared statements, values, paging, batches, events, compression."""

import datetime
import decimal
import ipaddress
import os
import threading
import time
import uuid

import pytest
from cassandra import AlreadyExists, ConsistencyLevel, InvalidRequest, Unavailable
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import FallthroughRetryPolicy
from cassandra.protocol import SyntaxException
from cassandra.query import BatchStatement, BatchType, SimpleStatement
from cassandra.util import Date, Duration, Time

ROWS = 10_000
# The default of `num_tokens`; the real Cassandra that `cargo xtask cassandra` runs has one token.
TOKENS = 1 if os.environ.get("HELENUS_AGAINST") else 16


def wait_for(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def test_connection_uses_what_was_asked_for(node, session):
    connection = session.cluster.control_connection._connection
    assert connection.protocol_version == node.protocol
    assert bool(connection.compressor) == bool(node.compression)


def test_metadata_of_the_node(session):
    hosts = list(session.cluster.metadata.all_hosts())
    assert len(hosts) == 1
    assert (hosts[0].datacenter, hosts[0].rack) == ("datacenter1", "rack1")
    assert hosts[0].release_version == "5.0.6"
    assert session.cluster.metadata.cluster_name == "Test Cluster"
    assert session.cluster.metadata.partitioner == "org.apache.cassandra.dht.Murmur3Partitioner"
    assert len(session.cluster.metadata.token_map.ring) == TOKENS


def test_metadata_of_a_table(session):
    session.execute("""
        CREATE TABLE described (a int, b text, c timestamp, d bigint, s text STATIC, "Quoted" blob, v uuid, PRIMARY KEY ((a, b), c, d))
        WITH CLUSTERING ORDER BY (c DESC, d ASC) AND comment = 'it''s said' AND default_time_to_live = 86400 AND gc_grace_seconds = 3600
        AND compaction = {'class': 'LeveledCompactionStrategy'}""")
    session.cluster.refresh_table_metadata("tested", "described")
    table = session.cluster.metadata.keyspaces["tested"].tables["described"]
    assert [column.name for column in table.partition_key] == ["a", "b"]
    assert [(column.name, column.is_reversed) for column in table.clustering_key] == [("c", True), ("d", False)]
    assert {column.name: column.cql_type for column in table.columns.values()} == {
        "a": "int", "b": "text", "c": "timestamp", "d": "bigint", "s": "text", "Quoted": "blob", "v": "uuid"}
    assert table.columns["s"].is_static
    assert table.options["comment"] == "it's said"
    assert table.options["default_time_to_live"] == 86400
    assert table.options["gc_grace_seconds"] == 3600
    text = table.export_as_string()
    session.execute("DROP TABLE described")
    session.execute(text)
    session.cluster.refresh_table_metadata("tested", "described")
    assert session.cluster.metadata.keyspaces["tested"].tables["described"].export_as_string() == text


def test_agreement_on_the_schema(session):
    assert session.cluster.control_connection.wait_for_schema_agreement()


SCALARS = {
    "ascii": ["", "plain"],
    "bigint": [-(2**63), 0, 2**63 - 1],
    "blob": [b"", bytes(range(256))],
    "boolean": [True, False],
    "date": [Date(-10_000), Date(0), Date(20_000)],
    "decimal": [decimal.Decimal("-123456789012345678901234567890.123"), decimal.Decimal("1E+10"), decimal.Decimal("0.000")],
    "double": [0.0, -1.5, 1.7976931348623157e308, float("inf"), float("nan")],
    "duration": [Duration(1, 2, 3), Duration(-14, -3, -5_000_000_000)],
    "float": [0.0, 1.5, float("-inf")],
    "inet": ["127.0.0.1", "2001:db8::1"],
    "int": [-(2**31), 0, 2**31 - 1],
    "smallint": [-(2**15), 2**15 - 1],
    "text": ["", "Ὅμηρος 🏺", "x" * 100_000],
    "time": [Time(0), Time(86_399_999_999_999)],
    "timestamp": [datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000), datetime.datetime(2030, 1, 1, 12, 30, 15, 123_000)],
    "timeuuid": [uuid.uuid1()],
    "tinyint": [-128, 127],
    "uuid": [uuid.UUID(int=0), uuid.uuid4()],
    "varchar": ["another name for text"],
    "varint": [0, -1, 127, 128, -129, 2**200, -(2**200)],
}


def same(left, right):
    return left == right or (left != left and right != right)


@pytest.mark.parametrize("kind", SCALARS)
def test_scalar_round_trip(session, kind):
    table = f"scalar_{kind}"
    session.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, value {kind})")
    insert = session.prepare(f"INSERT INTO {table} (id, value) VALUES (?, ?)")
    values = [*SCALARS[kind], None]
    for index, value in enumerate(values):
        session.execute(insert, (index, value))
    back = {row.id: row.value for row in session.execute(f"SELECT * FROM {table}")}
    for index, value in enumerate(values):
        # The driver hands inet values out as text; compare the addresses, not their spelling.
        got = str(ipaddress.ip_address(back[index])) if kind == "inet" and value else back[index]
        assert same(got, value), (kind, value, got)
    select = session.prepare(f"SELECT value FROM {table} WHERE id = ?")
    assert same(session.execute(select, (0,)).one().value, back[0])


KEYS = [kind for kind in SCALARS if kind not in ("duration", "varchar")]


@pytest.mark.parametrize("kind", KEYS)
def test_scalar_as_key_and_in_order(session, kind):
    table = f"ordered_{kind}"
    session.execute(f"CREATE TABLE {table} (id int, value {kind}, PRIMARY KEY (id, value))")
    session.execute(f"CREATE TABLE keyed_{kind} (value {kind} PRIMARY KEY, id int)")
    values = [value for value in SCALARS[kind] if value not in ("", b"") and len(str(value)) < 10_000]
    insert = session.prepare(f"INSERT INTO {table} (id, value) VALUES (1, ?)")
    keyed = session.prepare(f"INSERT INTO keyed_{kind} (value, id) VALUES (?, ?)")
    for index, value in enumerate(values):
        session.execute(insert, (value,))
        session.execute(keyed, (value, index))
    select = session.prepare(f"SELECT id FROM keyed_{kind} WHERE value = ?")
    assert [session.execute(select, (value,)).one().id for value in values] == list(range(len(values)))
    up = [row.value for row in session.execute(f"SELECT value FROM {table} WHERE id = 1")]
    down = [row.value for row in session.execute(f"SELECT value FROM {table} WHERE id = 1 ORDER BY value DESC")]
    assert len(up) == len(values)
    assert list(map(str, up)) == list(map(str, reversed(down)))
    if kind not in ("uuid", "timeuuid", "inet", "boolean", "double"):
        assert up == sorted(up)


def test_prepared_statement(session):
    session.execute("CREATE TABLE prepared (a int, b text, c int, d int, PRIMARY KEY (a, b))")
    insert = session.prepare("INSERT INTO prepared (a, b, c) VALUES (?, ?, ?)")
    assert [column.name for column in insert.column_metadata] == ["a", "b", "c"]
    assert insert.routing_key_indexes == [0]
    assert session.prepare("INSERT INTO prepared (a, b, c) VALUES (?, ?, ?)").query_id == insert.query_id
    session.execute(insert, (1, "x", 2))
    session.execute(session.prepare("UPDATE prepared SET d = :d WHERE a = :a AND b = :b"), {"a": 1, "b": "x", "d": 5})
    select = session.prepare("SELECT * FROM prepared WHERE a = ? AND b = ?")
    assert session.execute(select, (1, "x")).one() == (1, "x", 2, 5)
    session.execute(session.prepare("DELETE c FROM prepared WHERE a = ? AND b = ?"), (1, "x"))
    assert session.execute(select, (1, "x")).one() == (1, "x", None, 5)
    assert session.execute(select, (2, "x")).one() is None


def test_unset_leaves_a_column_alone(node, session):
    session.execute("CREATE TABLE sparse (a int PRIMARY KEY, b int, c int)")
    insert = session.prepare("INSERT INTO sparse (a, b, c) VALUES (?, ?, ?)")
    session.execute(insert, (1, 2, 3))
    if node.protocol < 4:
        # Version 3 cannot say that a value is not set, so the driver refuses to leave one out, and nothing is written.
        with pytest.raises(KeyError):
            session.execute(insert, {"a": 1, "b": 5})
        assert session.execute("SELECT * FROM sparse").one() == (1, 2, 3)
    else:
        session.execute(insert, {"a": 1, "b": 5})
        assert session.execute("SELECT * FROM sparse").one() == (1, 5, 3)
    session.execute(insert, (1, None, 7))
    assert session.execute("SELECT * FROM sparse").one() == (1, None, 7)


def test_ten_thousand_rows_paged(session):
    session.execute("CREATE TABLE paged (part int, row int, value text, PRIMARY KEY (part, row))")
    insert = session.prepare("INSERT INTO paged (part, row, value) VALUES (?, ?, ?)")
    rows = [(index % 10, index, f"value {index}") for index in range(ROWS)]
    assert all(result.success for result in execute_concurrent_with_args(session, insert, rows, concurrency=100))
    everything = SimpleStatement("SELECT * FROM paged", fetch_size=333)
    result = session.execute(everything)
    assert result.has_more_pages and len(result.current_rows) == 333
    assert sorted(tuple(row) for row in result) == sorted(rows)
    one = SimpleStatement("SELECT row FROM paged WHERE part = 3 AND row >= 500 AND row < 9000", fetch_size=100)
    assert [row.row for row in session.execute(one)] == [row for part, row, _ in rows if part == 3 and 500 <= row < 9000]
    down = SimpleStatement("SELECT row FROM paged WHERE part = 3 ORDER BY row DESC LIMIT 250", fetch_size=100)
    assert [row.row for row in session.execute(down)] == [row for part, row, _ in reversed(rows) if part == 3][:250]
    assert session.execute("SELECT count(*) FROM paged").one()[0] == ROWS


def test_a_page_goes_on_from_its_state(session):
    session.execute("CREATE TABLE resumed (a int PRIMARY KEY)")
    for index in range(50):
        session.execute("INSERT INTO resumed (a) VALUES (%s)", (index,))
    statement = SimpleStatement("SELECT a FROM resumed", fetch_size=20)
    seen, state = [], None
    for _ in range(3):
        result = session.execute(statement, paging_state=state)
        seen += [row.a for row in result.current_rows]
        state = result.paging_state
    assert sorted(seen) == list(range(50)) and state is None


def test_token_ranges(session):
    session.execute("CREATE TABLE tokens (a int PRIMARY KEY)")
    for index in range(200):
        session.execute("INSERT INTO tokens (a) VALUES (%s)", (index,))
    tokens = [row[1] for row in session.execute("SELECT a, token(a) FROM tokens")]
    assert tokens == sorted(tokens) and len(tokens) == 200
    left = session.execute("SELECT a FROM tokens WHERE token(a) <= 0").all()
    right = session.execute("SELECT a FROM tokens WHERE token(a) > 0").all()
    assert len(left) + len(right) == 200 and left and right
    ours = session.cluster.metadata.token_map.token_class.from_key((7).to_bytes(4, "big")).value
    assert session.execute("SELECT token(a) FROM tokens WHERE a = 7").one()[0] == ours


@pytest.mark.parametrize("kind", [BatchType.LOGGED, BatchType.UNLOGGED])
def test_batch(session, kind):
    table = f"batched_{'logged' if kind == BatchType.LOGGED else 'unlogged'}"
    session.execute(f"CREATE TABLE {table} (a int, b int, c text, PRIMARY KEY (a, b))")
    insert = session.prepare(f"INSERT INTO {table} (a, b, c) VALUES (?, ?, ?)")
    batch = BatchStatement(kind)
    for index in range(100):
        batch.add(insert, (index % 7, index, str(index)))
    batch.add(SimpleStatement(f"INSERT INTO {table} (a, b, c) VALUES (%s, %s, %s)"), (100, 100, "text"))
    batch.add(f"DELETE FROM {table} WHERE a = 0 AND b = 0")
    session.execute(batch)
    rows = {(row.a, row.b): row.c for row in session.execute(f"SELECT * FROM {table}")}
    # At equal timestamps a deletion wins.
    assert (0, 0) not in rows
    assert len(rows) == 100 and rows[(100, 100)] == "text" and rows[(1, 99)] == "99"
    session.execute(f"BEGIN BATCH INSERT INTO {table} (a, b) VALUES (200, 1); INSERT INTO {table} (a, b) VALUES (201, 1); APPLY BATCH")
    assert len(session.execute(f"SELECT * FROM {table}").all()) == 102


def test_timestamp_and_ttl(session):
    session.execute("CREATE TABLE timed (a int PRIMARY KEY, b int)")
    session.execute("INSERT INTO timed (a, b) VALUES (1, 1) USING TIMESTAMP 2000")
    session.execute("INSERT INTO timed (a, b) VALUES (1, 2) USING TIMESTAMP 1000")
    assert session.execute("SELECT b, writetime(b) FROM timed WHERE a = 1").one() == (1, 2000)
    session.execute("INSERT INTO timed (a, b) VALUES (2, 2) USING TTL 1000")
    assert 990 < session.execute("SELECT ttl(b) FROM timed WHERE a = 2").one()[0] <= 1000
    session.execute("INSERT INTO timed (a, b) VALUES (3, 3) USING TTL 1")
    wait_for(lambda: session.execute("SELECT b FROM timed WHERE a = 3").one() is None)


def test_schema_change_event_reaches_another_client(node, session):
    other = node.cluster()
    other.connect()
    try:
        session.execute("CREATE TABLE announced (a int PRIMARY KEY, b text)")
        wait_for(lambda: "announced" in other.metadata.keyspaces["tested"].tables)
        session.execute("DROP TABLE announced")
        wait_for(lambda: "announced" not in other.metadata.keyspaces["tested"].tables)
        session.execute("CREATE KEYSPACE IF NOT EXISTS announced WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}")
        wait_for(lambda: "announced" in other.metadata.keyspaces)
        session.execute("DROP KEYSPACE announced")
        wait_for(lambda: "announced" not in other.metadata.keyspaces)
    finally:
        other.shutdown()


def test_truncate(session):
    session.execute("CREATE TABLE emptied (a int PRIMARY KEY)")
    for index in range(20):
        session.execute("INSERT INTO emptied (a) VALUES (%s)", (index,))
    session.execute("TRUNCATE emptied")
    assert session.execute("SELECT * FROM emptied").all() == []
    session.execute("INSERT INTO emptied (a) VALUES (1)")
    assert len(session.execute("SELECT * FROM emptied").all()) == 1


def test_errors_carry_their_codes(session):
    with pytest.raises(SyntaxException):
        session.execute("SELEKT 1")
    with pytest.raises(InvalidRequest):
        session.execute("SELECT * FROM nowhere")
    session.execute("CREATE TABLE twice (a int PRIMARY KEY)")
    with pytest.raises(AlreadyExists):
        session.execute("CREATE TABLE twice (a int PRIMARY KEY)")
    with pytest.raises(InvalidRequest):
        session.execute("INSERT INTO twice (a) VALUES ('text')")
    session.execute("CREATE KEYSPACE IF NOT EXISTS three WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
    session.execute("CREATE TABLE IF NOT EXISTS three.t (a int PRIMARY KEY)")
    # Without the fallthrough policy the driver would try the next node, of which there is none, and report that.
    quorum = SimpleStatement("INSERT INTO three.t (a) VALUES (1)", consistency_level=ConsistencyLevel.QUORUM, retry_policy=FallthroughRetryPolicy())
    with pytest.raises(Unavailable) as unavailable:
        session.execute(quorum)
    assert (unavailable.value.required_replicas, unavailable.value.alive_replicas) == (2, 1)
    session.execute("DROP KEYSPACE three")


def test_a_statement_is_prepared_anew_when_the_server_forgot_it(session):
    session.execute("CREATE TABLE forgotten (a int PRIMARY KEY, b int)")
    select = session.prepare("SELECT * FROM forgotten WHERE a = ?")
    session.execute("DROP TABLE forgotten")
    session.execute("CREATE TABLE forgotten (a int PRIMARY KEY, b int)")
    assert session.execute(select, (1,)).one() is None


def test_large_values_in_both_directions(session):
    session.execute("CREATE TABLE large (a int PRIMARY KEY, b blob)")
    insert = session.prepare("INSERT INTO large (a, b) VALUES (?, ?)")
    # Far beyond a segment of version 5.
    value = bytes(range(256)) * 12 * 1024
    session.execute(insert, (1, value))
    assert session.execute("SELECT b FROM large").one().b == value


def test_many_threads_on_one_session(session):
    session.execute("CREATE TABLE threaded (a int PRIMARY KEY, b int)")
    insert = session.prepare("INSERT INTO threaded (a, b) VALUES (?, ?)")
    select = session.prepare("SELECT b FROM threaded WHERE a = ?")
    wrong = []

    def work(start):
        for index in range(start, start + 200):
            session.execute(insert, (index, index * 3))
            if session.execute(select, (index,)).one().b != index * 3:
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(0, 1600, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_is_to_be_traced_has_an_id(session):
    session.execute("CREATE TABLE IF NOT EXISTS traced (k int PRIMARY KEY, v int)")
    prepared = session.prepare("SELECT * FROM traced WHERE k = ?")
    ids = set()
    for statement, values in [("INSERT INTO traced (k, v) VALUES (1, 1)", None), ("SELECT * FROM traced", None), (prepared, (1,))]:
        assert not session.execute_async(statement, values).result().response_future._query_traces
        future = session.execute_async(statement, values, trace=True)
        future.result()
        ids.update(trace.trace_id for trace in future._query_traces)
    assert len(ids) == 3 and all(found.version == 1 for found in ids)


def test_a_custom_payload_is_passed_over(node, session):
    future = session.execute_async("SELECT key FROM system.local", custom_payload={"who": b"asks"})
    if node.protocol < 4:
        with pytest.raises(Exception):
            future.result()
        return
    assert len(list(future.result())) == 1
    assert not future.custom_payload
