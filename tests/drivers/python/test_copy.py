"""COPY between the shells: a table of all types goes through files of `helenus cql` into cqlsh and the reverse, and is the same table afterwards.

A table is judged by the driver's reading of it, which is neither shell's. 100,000 rows in a soak, 2,000 for a change.
"""

import os
import subprocess
import time
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import RoundRobinPolicy
from cassandra.util import Date, Duration, Time

from server import Server

ROWS = 100_000 if os.environ.get("HELENUS_SOAK") else 2_000
COUNTERS = ROWS // 10
SECONDS_MAX = 1_200
# Nulls that differ from empty text, and all digits of a number, so that a file holds the whole table.
READ = "WITH HEADER = true AND NULL = 'nil'"
WRITTEN = f"{READ} AND DOUBLEPRECISION = 17 AND FLOATPRECISION = 9"

EDGES = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}


def edged(kind):
    """Numbers of a width: both ends, and all over it."""
    half = EDGES[kind]
    return lambda n: (-half, half - 1, 0)[n] if n < 3 else (n * 2_654_435_761) % (2 * half) - half


def sometimes(of):
    """A null in some rows."""
    return lambda n: None if n % 11 == 5 else of(n)


# A column of each type, its value in the row of a number. A text has neither backslashes nor ends of lines, which cqlsh's COPY TO doubles and escapes; a timestamp has
# milliseconds, which are all that a file has of it; a number is
# not below 0.0001, where both shells' files have fewer digits than it; a
# duration is not zero, which both write as nothing.
COLUMNS = {
    "a ascii": lambda n: f"ascii, 'quoted' \"twice\" {n}",
    "b bigint": edged("bigint"),
    "c blob": lambda n: bytes([n % 256, 0, 255]) * (n % 5),
    "d boolean": lambda n: n % 2 == 0,
    "e date": lambda n: Date(n * 17 % 3_600_000 - 700_000),
    "f decimal": lambda n: Decimal(n - 500).scaleb(n % 60 - 30),
    "g double": lambda n: (n - 1_000.5) / 7 * 2.0 ** (n % 40),
    "h duration": lambda n: Duration(n % 100, n % 30, n * 1_000_000_007 + 1),
    "i float": lambda n: (n - 1_000.5) / 8 * 2.0 ** (n % 60),
    "j inet": lambda n: f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" if n % 2 else f"2001:db8::{n >> 16:x}:{n & 0xffff:x}",
    "l smallint": edged("smallint"),
    "m text": lambda n: (f'text, "quoted" | \u00fc \u6f22 \U0001f40e {n}', "", " spaces ", "it''s", "{'a': 1}", "NULL")[n % 6],
    "n time": lambda n: Time(n * 1_000_000_007 % 86_400_000_000_000),
    "o timestamp": lambda n: datetime(1905, 2, 28, 23, 59, 58, 999_000) + timedelta(days=n % 60_000, milliseconds=n * 1_237),
    "p timeuuid": lambda n: UUID(int=(n << 96) | (1 << 76) | (8 << 60) | n),
    "q tinyint": edged("tinyint"),
    "r uuid": lambda n: UUID(int=(n << 100) | (4 << 76) | (8 << 60) | n),
    "t varint": lambda n: (-3) ** (n % 200) + n,
    "u list<int>": lambda n: [n, -n, n],
    "v set<text>": lambda n: {f"one {n}", "two, {of} 'them'", "[three]"},
    "w map<text, frozen<list<int>>>": lambda n: {f"key: {n}": [n, 0], "other": []} if n % 3 else None,
    "x tuple<int, text>": lambda n: (n, f"part, ({n})"),
    "y frozen<pair>": lambda n: (n, f"field: {n}"),
    "z vector<float, 3>": lambda n: [n / 2, 0.25, -1.0],
    "aa list<frozen<tuple<int, frozen<set<double>>>>>": lambda n: [(n, {0.5, n + 0.25}), (-n, {1e30})],
    "ab map<timestamp, frozen<pair>>": lambda n: {datetime(2000 + n % 30, 1, 2, 3, 4, 5, 6_000): (n, "of a map")},
    "ac set<inet>": lambda n: {f"10.0.0.{n % 256}", "2001:db8::1"},
    "ad list<duration>": lambda n: [Duration(1, 2, 3), Duration(-n % 7 - 7, 0, 0)],
    "ae frozen<nested>": lambda n: ((n, "inner"), [n], {"k": UUID(int=(4 << 76) | (8 << 60) | n)}),
    "af set<blob>": lambda n: {b"", bytes([n % 256])},
}
NAMES = ["id", *(column.split()[0] for column in COLUMNS)]
VALUES = [lambda n: n, *map(sometimes, COLUMNS.values())]


class Table:
    """A server with the table of all types, and both shells on it."""

    def __init__(self, server):
        self.server = server
        profile = ExecutionProfile(load_balancing_policy=RoundRobinPolicy(), request_timeout=60)
        self.cluster = Cluster([server.host], port=server.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
        self.session = self.cluster.connect()
        for statement in [
            "CREATE KEYSPACE copied WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}", "USE copied",
            "CREATE TYPE pair (n int, name text)", "CREATE TYPE nested (one frozen<pair>, some frozen<list<int>>, others frozen<map<text, uuid>>)",
            *(f"CREATE TABLE {name} (id int, {', '.join(COLUMNS)}, PRIMARY KEY (id))" for name in ("source", "target")),
            *(f"CREATE TABLE {name} (k int, c text, n counter, m counter, PRIMARY KEY (k, c))" for name in ("counted", "recounted")),
        ]:
            self.session.execute(statement)
        self._fill(f"INSERT INTO source ({', '.join(NAMES)}) VALUES ({', '.join('?' for _ in NAMES)})", [[value(n) for value in VALUES] for n in range(ROWS)])
        self._fill("UPDATE counted SET n = n + ?, m = m + ? WHERE k = ? AND c = ?", [(n * n, -n, n % 100, f"c {n}") for n in range(COUNTERS)])

    def _fill(self, statement, rows):
        assert all(done for done, _ in execute_concurrent_with_args(self.session, self.session.prepare(statement), rows))

    def rows(self, table, names):
        """What the driver reads, each value as its text, since those of some types have no order."""
        return sorted(tuple(map(repr, row)) for row in self.session.execute(f"SELECT {', '.join(names)} FROM {table}"))

    def copy(self, shell, statement):
        program = [os.environ["HELENUS_BINARY"], "cql"] if shell == "helenus" else ["cqlsh"]
        command = [*program, self.server.host, str(self.server.port), "--no-color", "--request-timeout=60", "-k", "copied", "-e", statement]
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
        assert done.returncode == 0 and not done.stderr.strip(), done.stdout + done.stderr
        print(f"{shell}: {statement}: {time.monotonic() - began:.1f} s")
        return done.stdout


@pytest.fixture(scope="module")
def table():
    with Server("uring", 2) as server:
        table = Table(server)
        yield table
        table.cluster.shutdown()


def differing(names, rows, wanted):
    """How many rows there are, and some of the values that differ, by column."""
    found = {}
    for row, other in zip(rows, wanted):
        for name, one, two in zip(names, row, other):
            if one != two:
                found.setdefault(name, []).append((one, two))
    return len(rows), len(wanted), {name: (len(pairs), pairs[:3]) for name, pairs in found.items()}


def round_trips(table, source, target, names, rows, tmp_path, options=""):
    columns = ", ".join(names)
    files = {shell: tmp_path / f"{shell}.csv" for shell in ("cqlsh", "helenus")}
    for shell, file in files.items():
        assert f"{rows} rows exported to 1 files" in table.copy(shell, f"COPY {source} ({columns}) TO '{file}' {WRITTEN}")
    # cqlsh's processes write ranges of tokens as they come: the order of rows is chance.
    theirs, ours = (sorted(file.read_bytes().splitlines()) for file in files.values())
    assert ours == theirs, [pair for pair in zip(ours, theirs) if pair[0] != pair[1]][:3]
    assert len(ours) == rows + 1
    before = table.rows(source, names)
    assert len(before) == rows
    for writer, reader in [("cqlsh", "helenus"), ("helenus", "cqlsh"), ("helenus", "helenus")]:
        table.session.execute(f"TRUNCATE {target}")
        # As prepared statements cqlsh sends no durations and no user-defined types, to no server.
        plain = " AND PREPAREDSTATEMENTS = False" if reader == "cqlsh" and options else ""
        said = table.copy(reader, f"COPY {target} ({columns}) FROM '{files[writer]}' {READ}{plain}")
        assert f"{rows} rows imported from 1 files" in said, said
        after = table.rows(target, names)
        # Not the rows themselves: pytest would write a book about them.
        is_same = after == before
        assert is_same, (writer, reader, differing(names, after, before))


def test_rows_of_every_type_go_both_ways(table, tmp_path):
    round_trips(table, "source", "target", NAMES, ROWS, tmp_path, options="plain")


def test_counters_go_both_ways(table, tmp_path):
    round_trips(table, "counted", "recounted", ["k", "c", "n", "m"], COUNTERS, tmp_path)
