"""DESCRIBE, whose text makes the same schema again, and the shell's own commands."""

import re

import pytest

from server import Server
from shell import CONFIGURATIONS, cqlsh, run, words

# Each statement stands for what could be lost on the way: types in the order of their use, quoted names and quotes in comments,
# every option, statics, descending and reversed keys, counters, all types.
DEFINITIONS = r'''
CREATE KEYSPACE trip WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1} AND durable_writes = false;
CREATE TYPE trip.zinner (a int, "B b" text);
CREATE TYPE trip.amiddle (x frozen<zinner>, y list<frozen<zinner>>, z map<text, frozen<set<int>>>);
CREATE TYPE trip."Outer" (m frozen<amiddle>, t tuple<int, frozen<zinner>, text>, v vector<float, 3>);
CREATE TABLE trip.scalars (a ascii, b bigint, c blob, d boolean, e date, f decimal, g double, h duration, i float, j inet, k int, l smallint,
    m text, n time, o timestamp, p timeuuid, q tinyint, r uuid, s varchar, t varint, PRIMARY KEY ((k, r), p, t))
    WITH CLUSTERING ORDER BY (p DESC, t ASC);
CREATE TABLE trip.nested (k int PRIMARY KEY, a list<int>, b set<text>, c map<uuid, blob>, d frozen<list<int>>,
    e frozen<map<text, frozen<list<int>>>>, f tuple<int, text, frozen<set<int>>>, g vector<float, 4>, h vector<text, 2>, i "Outer",
    j frozen<"Outer">, k2 list<frozen<zinner>>, l map<frozen<zinner>, frozen<amiddle>>, m set<frozen<tuple<int, int>>>);
CREATE TABLE trip."QuotedName" ("Key" int, "select" text, "with ""q""" int static, "a b" text, PRIMARY KEY ("Key", "select"))
    WITH comment = 'it''s a "comment" with; -- such /* things';
CREATE TABLE trip.options (k int PRIMARY KEY, v int, w text) WITH comment = 'c' AND additional_write_policy = '50p'
    AND allow_auto_snapshot = false AND bloom_filter_fp_chance = 0.05 AND caching = {'keys': 'NONE', 'rows_per_partition': '10'}
    AND compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': '64'}
    AND compression = {'class': 'ZstdCompressor', 'chunk_length_in_kb': '64', 'compression_level': '5'} AND crc_check_chance = 0.5
    AND default_time_to_live = 3600 AND extensions = {'one': 0x01ff} AND gc_grace_seconds = 100 AND incremental_backups = false
    AND max_index_interval = 4096 AND memtable_flush_period_in_ms = 1000 AND min_index_interval = 64 AND read_repair = 'NONE'
    AND speculative_retry = '10ms';
CREATE TABLE trip.plain (k int PRIMARY KEY, v int) WITH compression = {'enabled': 'false'}
    AND compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_size': '1', 'compaction_window_unit': 'HOURS'};
CREATE TABLE trip.counters (k int, c int, n counter, s counter static, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC);
CREATE TABLE trip.reversed (a int, b frozen<list<int>>, c frozen<zinner>, PRIMARY KEY (a, b, c)) WITH CLUSTERING ORDER BY (b DESC, c DESC);
CREATE TABLE trip.dropped (k int, c int, gone int, "Gone 2" list<text>, sgone text static, stays int, PRIMARY KEY (k, c));
ALTER TABLE trip.dropped DROP gone USING TIMESTAMP 1700000000000000;
ALTER TABLE trip.dropped DROP "Gone 2";
ALTER TABLE trip.dropped DROP sgone;
ALTER TABLE trip.dropped ADD gone int;
ALTER TYPE trip.zinner ADD later uuid;
ALTER TYPE trip.zinner RENAME a TO a1;
'''


@pytest.fixture(scope="module", params=CONFIGURATIONS, ids=lambda pair: f"{pair[0]}-{pair[1]}")
def server(request):
    with Server(*request.param) as server:
        cqlsh(server, "DROP KEYSPACE IF EXISTS trip")
        done = run(server, text=DEFINITIONS)
        assert done.returncode == 0 and not done.stderr.strip(), done.stderr
        yield server
        cqlsh(server, "DROP KEYSPACE trip")


def test_each_element_is_described_as_in_its_keyspace(server):
    whole = cqlsh(server, "DESCRIBE KEYSPACE trip")
    for kind, name in re.findall(r"CREATE (TABLE|TYPE) (trip\.(?:\"(?:[^\"]|\"\")*\"|\w+))", whole):
        assert cqlsh(server, f"DESCRIBE {kind} {name}") in whole, name
    assert words(cqlsh(server, "DESCRIBE TYPES", "-k", "trip")) == 'amiddle "Outer" zinner'
    assert cqlsh(server, "DESCRIBE ONLY KEYSPACE trip") in whole
    said = words(cqlsh(server, "DESCRIBE TABLE trip.dropped WITH INTERNALS"))
    assert "ALTER TABLE trip.dropped DROP gone USING TIMESTAMP 1700000000000000; ALTER TABLE trip.dropped ADD gone int;" in said
    assert 'ALTER TABLE trip.dropped DROP "Gone 2" USING TIMESTAMP' in said and "sgone" in said and "ID = " in said
    assert "Gone" not in cqlsh(server, "DESCRIBE TABLE trip.dropped")


@pytest.mark.parametrize("form", ["DESCRIBE KEYSPACE trip WITH INTERNALS", "DESCRIBE KEYSPACE trip"])
def test_a_described_keyspace_makes_the_same_again(server, form):
    text = cqlsh(server, form)
    assert text.index("CREATE TYPE trip.zinner") < text.index("CREATE TYPE trip.amiddle") < text.index('CREATE TYPE trip."Outer"')
    assert text.index('CREATE TYPE trip."Outer"') < text.index("CREATE TABLE")
    cqlsh(server, "DROP KEYSPACE trip")
    done = run(server, text=text)
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    again = cqlsh(server, form)
    assert again == text


def test_what_is_not_there_is_said(server):
    for what, word in [("KEYSPACE nowhere", "'nowhere' not found in keyspaces"), ("TABLE trip.nothing", "Table 'nothing' not found in keyspace 'trip'"),
                       ("TYPE trip.nothing", "User defined type 'nothing' not found in 'trip'"), ("nothing", "'nothing' not found in keyspaces")]:
        done = run(server, "-e", f"DESCRIBE {what}")
        assert done.returncode != 0 and word in done.stderr, done.stderr


def test_the_shells_own_commands(server, tmp_path):
    source, captured = tmp_path / "source.cql", tmp_path / "captured.txt"
    source.write_text("INSERT INTO trip.plain (k, v) VALUES (1, 10);\nINSERT INTO trip.plain (k, v) VALUES (2, 20);\n")
    done = run(server, text=f"""
        SHOW VERSION
        SHOW HOST
        CONSISTENCY
        CONSISTENCY LOCAL_QUORUM
        SERIAL CONSISTENCY
        SERIAL CONSISTENCY LOCAL_SERIAL
        SOURCE '{source}'
        PAGING
        PAGING 1
        SELECT k FROM trip.plain;
        PAGING OFF
        SELECT v FROM trip.plain;
        EXPAND ON
        SELECT k, v FROM trip.plain WHERE k = 2;
        EXPAND OFF
        CONSISTENCY ONE
        CLEAR
        HELP
        CAPTURE '{captured}'
        SELECT k, v FROM trip.plain;
        TRUNCATE trip.plain;
    """)
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    said = words(done.stdout)
    assert re.search(r"\[cqlsh 6\.[\d.]+ \| Cassandra 5\.0\.6 \| CQL spec 3\.4\.7 \| Native protocol v\d\]", said), said
    assert f"Connected to Test Cluster at {server.host}:{server.port}" in said
    assert "Current consistency level is ONE." in said and "Consistency level set to LOCAL_QUORUM." in said
    assert "Current serial consistency level is SERIAL." in said and "Serial consistency level set to LOCAL_SERIAL." in said
    assert "PAGING is ON Page size: 100" in said and "Page size: 1 " in said and "PAGING set to OFF" in said
    assert re.search(r"Page size: 1 k --- 1 .*?2 .*?PAGING set to OFF v ---- 10 20 \(2 rows\)", said), said
    assert "@ Row 1 ---+---- k | 2 v | 20" in said
    assert "Now capturing query output to" in said and words(captured.read_text()).startswith("k | v ---+---- ") and "1 | 10" in captured.read_text()


def test_a_traced_statement_is_answered(server):
    done = run(server, text="TRACING ON\nINSERT INTO trip.plain (k, v) VALUES (7, 70);\nSELECT v FROM trip.plain WHERE k = 7;\nTRACING OFF\nTRUNCATE trip.plain;\n")
    assert "TRACING set to ON" in done.stdout and "70" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("Tracing session:") == 2, done.stdout + done.stderr
    assert "Executing single-partition query on plain" in done.stdout and "Request complete" in done.stdout, done.stdout
    assert "TRACING set to OFF" in done.stdout, done.stdout + done.stderr


def test_the_queries_of_tab_completion(server):
    """What cqlsh reads to complete names: its driver's metadata of keyspaces, tables, columns, types and functions."""
    from cassandra.cluster import Cluster

    cluster = Cluster([server.host], port=server.port)
    try:
        cluster.connect()
        keyspaces = cluster.metadata.keyspaces
        assert {"trip", "system", "system_schema", "system_virtual_schema", "system_views"} <= set(keyspaces)
        trip = keyspaces["trip"]
        assert set(trip.user_types) == {"zinner", "amiddle", "Outer"} and not trip.functions and not trip.aggregates and not trip.views
        assert trip.user_types["zinner"].field_names == ["a1", "B b", "later"]
        assert set(trip.tables["QuotedName"].columns) == {"Key", "select", "a b", 'with "q"'}
        assert [column.name for column in trip.tables["scalars"].partition_key] == ["k", "r"]
        assert trip.tables["scalars"].clustering_key[0].is_reversed
        assert keyspaces["system_virtual_schema"].virtual and not trip.tables["nested"].indexes
    finally:
        cluster.shutdown()
