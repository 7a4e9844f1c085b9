"""cqlsh as its users type it: DESCRIBE, COPY in both directions, a session like the README's."""

import csv
import pathlib
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import pytest
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.util import Date, Duration, Time

from server import Server
from shell import CONFIGURATIONS, cqlsh, run, words

ROWS = 10_000
# COPY's own: quotes are escaped, not doubled.
DIALECT = {"escapechar": "\\", "doublequote": False}


@pytest.fixture(scope="module", params=CONFIGURATIONS, ids=lambda pair: f"{pair[0]}-{pair[1]}")
def server(request):
    with Server(*request.param) as server:
        cqlsh(server, "DROP KEYSPACE IF EXISTS shell")
        cqlsh(server, "CREATE KEYSPACE shell WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        yield server


def test_a_session_on_standard_input(server):
    done = run(server, text="""
        USE shell;
        CREATE TABLE seen (who text PRIMARY KEY, what text);
        INSERT INTO seen (who, what) VALUES ('Helenus', 'the seer whom people believed');
        SELECT * FROM seen;
        UPDATE seen SET what = 'twin' WHERE who = 'Cassandra';
        SELECT what FROM seen WHERE who = 'Cassandra';
        DELETE FROM seen WHERE who = 'Cassandra';
        SELECT count(*) FROM seen;
        CONSISTENCY QUORUM
        SHOW VERSION
        EXPAND ON
        SELECT * FROM seen;
        exit
    """)
    assert done.returncode == 0 and not done.stderr.strip(), done.stdout + done.stderr
    said = words(done.stdout)
    assert "Helenus | the seer whom people believed" in said
    assert "what ------ twin" in said
    assert "Consistency level set to QUORUM." in said
    assert "Cassandra 5.0.6" in said and "CQL spec 3.4.7" in said
    assert "who | Helenus" in said


def test_describe_in_all_its_forms(server):
    cqlsh(server, """CREATE TABLE shell.described (
        a int, b text, c timestamp, s text static, v blob, PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC) AND comment = 'told'""")
    assert "shell" in cqlsh(server, "DESCRIBE KEYSPACES") and "described" in cqlsh(server, "DESCRIBE TABLES", "-k", "shell")
    table = words(cqlsh(server, "DESCRIBE TABLE shell.described"))
    assert table.startswith("CREATE TABLE shell.described ( a int, b text, c timestamp, s text static, v blob, PRIMARY KEY ((a, b), c)")
    assert "CLUSTERING ORDER BY (c DESC)" in table and "comment = 'told'" in table
    keyspace = words(cqlsh(server, "DESCRIBE KEYSPACE shell"))
    assert keyspace.startswith("CREATE KEYSPACE shell WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '1'} AND durable_writes = true;")
    assert "CREATE TABLE shell.described" in keyspace
    assert "CREATE TABLE shell.described" in cqlsh(server, "DESCRIBE SCHEMA")
    assert "Cluster: Test Cluster" in cqlsh(server, "DESCRIBE CLUSTER")
    assert "CREATE TABLE system.local" in cqlsh(server, "DESCRIBE TABLE system.local")


def test_described_text_creates_the_same_again(server):
    cqlsh(server, 'CREATE TABLE shell.again ("Mixed" int, b uuid, c varint, PRIMARY KEY ("Mixed", b, c)) WITH CLUSTERING ORDER BY (b DESC, c ASC)')
    text = cqlsh(server, "DESCRIBE TABLE shell.again")
    cqlsh(server, "DROP TABLE shell.again")
    cqlsh(server, text)
    assert cqlsh(server, "DESCRIBE TABLE shell.again") == text


def test_describing_what_is_not_there(server):
    done = run(server, "-e", "DESCRIBE TABLE shell.nothing")
    assert done.returncode != 0 and "nothing" in done.stderr


def test_copy_ten_thousand_rows_in_and_out(server, tmp_path):
    cqlsh(server, "CREATE TABLE shell.copied (id int PRIMARY KEY, name text, weight double, seen timestamp, key uuid)")
    rows = [
        [str(index), f'name, "quoted" {index}', str(index / 4), "2024-02-29 12:30:45.123+0000", f"00000000-0000-4000-8000-{index:012x}"]
        for index in range(ROWS)
    ]
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    with open(source, "w", newline="") as file:
        csv.writer(file, **DIALECT).writerows(rows)
    said = run(server, "-e", f"COPY shell.copied (id, name, weight, seen, key) FROM '{source}'")
    assert said.returncode == 0 and f"{ROWS} rows imported" in said.stdout, said.stdout + said.stderr
    said = run(server, "-e", f"COPY shell.copied (id, name, weight, seen, key) TO '{target}'")
    assert said.returncode == 0 and f"{ROWS} rows exported" in said.stdout, said.stdout + said.stderr
    with open(target, newline="") as file:
        back = sorted(csv.reader(file, **DIALECT), key=lambda row: int(row[0]))
    for row, (number, name, weight, seen, key) in zip(back, rows, strict=True):
        assert (row[0], row[1], float(row[2]), row[3][:23], row[4]) == (number, name, float(weight), seen[:23], key)


# A column for each type, and what the row of a number has in it. COPY writes a timestamp's milliseconds only.
OF_EVERY_TYPE = [
    ("id int", lambda n: n),
    ("a ascii", lambda n: f"ascii, 'quoted' {n}"),
    ("b bigint", lambda n: n * 2**40 * (-1) ** n),
    ("c blob", lambda n: bytes([n % 256, 0, 255])),
    ("d boolean", lambda n: n % 2 == 0),
    ("e date", lambda n: Date(n - 5_000)),
    ("f decimal", lambda n: Decimal(n).scaleb(-(n % 30))),
    ("g double", lambda n: n / 7),
    ("h duration", lambda n: Duration(n % 100, n % 30, n * 1_000_000_000 + 1)),
    ("i float", lambda n: n / 4),
    ("j inet", lambda n: f"10.0.{n // 256}.{n % 256}" if n % 2 else f"2001:db8::{n:x}"),
    ("l smallint", lambda n: n - 5_000),
    ("m text", lambda n: f'text, "quoted" | \u00fc {n}'),
    ("n time", lambda n: Time(n * 1_000_000_007)),
    ("o timestamp", lambda n: datetime(2024, 2, 29, 12, 30, 45, n % 1_000 * 1_000)),
    ("p timeuuid", lambda n: UUID(int=(n << 96) | (1 << 76) | (8 << 60) | n)),
    ("q tinyint", lambda n: n % 256 - 128),
    ("r uuid", lambda n: UUID(int=(4 << 76) | (8 << 60) | n)),
    ("t varint", lambda n: (-3) ** (n % 200)),
    ("u list<int>", lambda n: [n, -n, n]),
    ("v set<text>", lambda n: {f"one {n}", "two, {of} 'them'"}),
    ("w map<text, frozen<list<int>>>", lambda n: {f"key: {n}": [n, 0], "other": []} if n % 3 else None),
    ("x tuple<int, text>", lambda n: (n, f"part {n}")),
    ("y frozen<pair>", lambda n: (n, f"field {n}")),
    ("z vector<float, 3>", lambda n: [n / 2, 0.25, -1.0]),
]


def test_copy_ten_thousand_rows_of_every_type(server, tmp_path):
    cluster = Cluster([server.host], port=server.port)
    try:
        session = cluster.connect("shell")
        session.execute("CREATE TYPE pair (n int, name text)")
        session.execute(f"CREATE TABLE every ({', '.join(column for column, _ in OF_EVERY_TYPE)}, PRIMARY KEY (id))")
        names = ", ".join(column.split()[0] for column, _ in OF_EVERY_TYPE)
        insert = session.prepare(f"INSERT INTO every ({names}) VALUES ({', '.join('?' for _ in OF_EVERY_TYPE)})")
        rows = [[value(number) for _, value in OF_EVERY_TYPE] for number in range(ROWS)]
        assert all(done for done, _ in execute_concurrent_with_args(session, insert, rows))
        ask = lambda: sorted(map(tuple, session.execute(f"SELECT {names} FROM every")), key=lambda row: row[0])
        before = ask()
        assert len(before) == ROWS
        file = tmp_path / "every.csv"
        said = run(server, "-e", f"COPY shell.every ({names}) TO '{file}' WITH DOUBLEPRECISION = 17 AND FLOATPRECISION = 9")
        assert said.returncode == 0 and f"{ROWS} rows exported" in said.stdout, said.stdout + said.stderr
        session.execute("TRUNCATE every")
        assert ask() == []
        # As prepared statements cqlsh sends no durations and no user-defined types, to no server.
        said = run(server, "-e", f"COPY shell.every ({names}) FROM '{file}' WITH PREPAREDSTATEMENTS = False")
        assert said.returncode == 0 and f"{ROWS} rows imported" in said.stdout, said.stdout + said.stderr
        assert ask() == before
    finally:
        cluster.shutdown()


def test_errors_are_shown_and_the_shell_goes_on(server):
    done = run(server, text="SELECT * FROM nowhere.nothing;\nSELEKT;\nSELECT cluster_name FROM system.local;\n")
    assert "InvalidRequest" in done.stderr and "SyntaxException" in done.stderr
    assert "Test Cluster" in done.stdout


def readme_session():
    """The README's first session: what is typed at the prompts, and the lines that it shows in answer."""
    readme = (pathlib.Path(__file__).parents[3] / "README.md").read_text()
    session = readme.split("$ cargo run --release -- cql\n", 1)[1].split("```", 1)[0]
    typed, shown = [], []
    for line in session.splitlines():
        if line.startswith(("cqlsh> ", "   ... ")):
            typed.append(line[len("cqlsh> "):])
        else:
            shown.append(line)
    return "\n".join(typed), words("\n".join(shown))


def test_the_session_of_the_readme(server):
    typed, shown = readme_session()
    assert typed.count(";") >= 5 and len(shown) > 50
    done = run(server, text=typed)
    assert done.returncode == 0 and not done.stderr.strip(), done.stdout + done.stderr
    said = words(done.stdout)
    assert shown in said, f"{shown!r} is not in {said!r}"
    assert "CREATE TABLE shop.orders" in said
    cqlsh(server, "DROP KEYSPACE shop")
