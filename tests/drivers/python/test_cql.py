"""`helenus cql` beside cqlsh: the same scripts, against one node, print the same. What differs on purpose is in docs/guide/cql.md and in no script here."""

import csv
import os
import subprocess

import pytest

from server import Server
from shell import CONFIGURATIONS, run, words
from test_cqlsh import DIALECT, OF_EVERY_TYPE, readme_session

SECONDS_MAX = 120

SCHEMA = """
CREATE KEYSPACE IF NOT EXISTS both WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
USE both;
CREATE TYPE IF NOT EXISTS pair (n int, name text);
CREATE TABLE IF NOT EXISTS t (k int, c text, s text static, v map<text, int>, PRIMARY KEY (k, c));
CREATE TABLE IF NOT EXISTS types (k int PRIMARY KEY, a ascii, b bigint, bl blob, bo boolean, d date, de decimal, db double, du duration, f float,
    i inet, si smallint, t text, ti time, ts timestamp, tu timeuuid, tn tinyint, u uuid, v varint, l list<int>, se set<text>, m map<text, frozen<list<int>>>,
    tp tuple<int, text, timestamp>, ud frozen<pair>, ve vector<float, 3>, md map<int, double>, ld list<timestamp>, li set<inet>, lu set<uuid>);
INSERT INTO types (k, a, b, bl, bo, d, de, db, du, f, i, si, t, ti, ts, tu, tn, u, v, l, se, m, tp, ud, ve, md, ld, li, lu) VALUES (1, 'as''cii\\', 12345678901, 0x00ff10, true,
    '2024-02-29', 12345.678900, 0.1, 1y2mo3d4h5m6s7ms8us9ns, 3.14159265, '10.0.0.1', 7, 'text ''quoted'' \\n back', '08:12:54.123456789', '2024-02-29 12:30:45.123+0000',
    50554d6e-29bb-11e5-b345-feff819cdc9f, -7, 550e8400-e29b-41d4-a716-446655440000, 123456789012345678901234567890, [1, 2, 3], {'b', 'a''x'}, {'k': [1, 2], 'a': [3]},
    (1, 'x', '2020-01-01'), {n: 1, name: 'it''s'}, [1.5, 2.25, 3], {1: 0.5, 2: 1e30}, ['2020-01-01 00:00:00.5+0000'], {'10.0.0.1', '9.0.0.1', '2001:db8::1'},
    {550e8400-e29b-41d4-a716-446655440000, 150e8400-e29b-11d4-a716-446655440000});
INSERT INTO types (k, t, f, db, de) VALUES (2, '', NaN, -Infinity, 1E-20);
INSERT INTO types (k, t, f, db, de, i, ts) VALUES (3, 'wide 漢字 ü', 100000, 123456.789, 1E+20, '2001:db8::1', '1500-01-01');
INSERT INTO types (k, bl, f, db, du, d) VALUES (4, 0x, 0, -0.0001234, -1mo, '-0044-03-15');
INSERT INTO types (k, f, db) VALUES (6, 1e-5, 12345678901234567890);
INSERT INTO types (k, f, db, ti) VALUES (7, 0.99999999, 1e15, '00:00:00');
"""

# Each is run by both shells in the keyspace `both`.
SCRIPTS = {
    "types": "SELECT * FROM types;\nSELECT k, f, db, de FROM types;",
    "expanded": "EXPAND ON\nSELECT * FROM types;\nSELECT k FROM types WHERE k = 99;\nEXPAND ON\nEXPAND OFF\nEXPAND\n",
    "conditions": "TRUNCATE t;\nINSERT INTO t (k, c) VALUES (1, 'a;b') IF NOT EXISTS;\nINSERT INTO t (k, c) VALUES (1, 'a;b') IF NOT EXISTS;\nUPDATE t SET v = {'x': 1} WHERE k = 1 AND c = 'z' IF v = null;",
    "batches": "TRUNCATE t;\nBEGIN BATCH INSERT INTO t (k, c) VALUES (2, 'x'); INSERT INTO t (k, c) VALUES (2, 'y'); APPLY BATCH;\nBEGIN UNLOGGED BATCH\n  INSERT INTO t (k, c) VALUES (3, 'x');\nAPPLY BATCH;\nSELECT * FROM t; SELECT count(*) FROM t;",
    "lines and comments": "SELECT k FROM\n types -- comment ; here\n /* another ; comment */ WHERE k = 1 // third\n;\n-- nothing\n\nSELECT JSON k, t FROM types WHERE k = 1;",
    "errors": "SELEKT;\nSELECT * FROM nowhere.nothing;\nUSE nowhere;\nCREATE TABLE t (k int PRIMARY KEY);\nCREATE KEYSPACE both WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};\nSELECT * FROM types WHERE k = ö;\n@;\nCONSISTENCY NOPE\nSHOW NOPE\nDESCRIBE nothing\nSELECT 1",
    "pages": "PAGING\nPAGING 2\nSELECT k, f FROM types;\nPAGING OFF\nPAGING OFF\nSELECT k FROM types;\nPAGING ON\nPAGING ON;",
    "levels": "CONSISTENCY\nCONSISTENCY QUORUM\nSELECT k FROM types WHERE k = 1;\nconsistency one;\nSERIAL CONSISTENCY\nSERIAL CONSISTENCY LOCAL_SERIAL;\nTRACING\nTRACING OFF\nSHOW HOST",
    "describe": "DESCRIBE TABLES\nDESC KEYSPACES\nDESCRIBE TABLE t\nDESCRIBE both.types;\nDESC TYPES\nDESC TYPE pair\nDESC KEYSPACE both\nDESC FUNCTIONS\nDESC TABLE system.local;",
    "strings": "INSERT INTO t (k, c) VALUES (9, 'a;\nb''c');\nINSERT INTO t (k, c) VALUES (9, $$do;lla'rs$$);\nSELECT c FROM t WHERE k = 9;",
    "names": 'SELECT k AS "K k", writetime(f), ttl(f) FROM types WHERE k = 1;\nSELECT "C" FROM t;',
}


@pytest.fixture(scope="module", params=CONFIGURATIONS, ids=lambda pair: f"{pair[0]}-{pair[1]}")
def server(request):
    with Server(*request.param) as server:
        done = run(server, text=SCHEMA)
        assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
        yield server


def cql(server, *arguments, text=None):
    command = [os.environ["HELENUS_BINARY"], "cql", server.host, str(server.port), "--no-color", "--request-timeout=60", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=SECONDS_MAX)


def shown(text):
    """Without what this cqlsh, of 5.0.0's age, says of every later server."""
    return [line for line in text.splitlines() if not line.startswith("WARNING: cqlsh was built against")]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_the_same(server, name, tmp_path):
    file = tmp_path / "script.cql"
    file.write_text(SCRIPTS[name])
    for arguments, text in [(("-f", str(file)), None), ((), SCRIPTS[name])]:
        theirs, ours = (shell(server, "-k", "both", *arguments, text=text) for shell in (run, cql))
        assert shown(ours.stdout) == shown(theirs.stdout)
        assert shown(ours.stderr) == shown(theirs.stderr)
        # Of standard input too: no terminal, and a statement that failed.
        assert ours.returncode == theirs.returncode


def test_sourced_files_end_with_what_they_changed(server, tmp_path):
    inner, captured = tmp_path / "inner.cql", tmp_path / "captured"
    inner.write_text(f"USE system;\nCONSISTENCY ALL\nEXPAND ON\nCAPTURE '{captured}'\nSELECT key FROM local;\nCAPTURE\n-- of old\rSELECT key FROM local;\n")
    script = f"EXPAND\nSOURCE '{inner}'\nCAPTURE\nEXPAND\nCONSISTENCY\nSELECT k FROM types WHERE k = 1;\nSELECT key FROM local;\nCAPTURE '{captured}'\nSOURCE '{inner}'\nCAPTURE\n"
    for arguments in (("-k", "both"), ()):
        results = []
        for shell in (run, cql):
            done = shell(server, *arguments, text=script)
            results.append((shown(done.stdout), shown(done.stderr), captured.read_text()))
            captured.unlink()
        assert results[1] == results[0]
        assert "Currently not capturing query output." in results[1][0]


def test_colours_are_the_same(server):
    statement = "SELECT * FROM types WHERE k = 1; SELECT k, c, s FROM t; SELECT t FROM types"
    theirs, ours = (shell(server, "-k", "both", "-C", "-e", statement) for shell in (run, cql))
    assert shown(ours.stdout) == shown(theirs.stdout) and "\x1b[" in ours.stdout


def test_the_session_of_the_readme(server):
    typed, said = readme_session()
    done = cql(server, text=f"DROP KEYSPACE IF EXISTS shop;\n{typed}\nDROP KEYSPACE shop;")
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    assert said in words(done.stdout), done.stdout


def test_copy_reads_and_writes_cqlshs_files(server, tmp_path):
    cqlsh = lambda statements: run(server, "-k", "both", "-e", statements)
    helenus = lambda statements: cql(server, "-k", "both", "-e", statements)
    columns = ", ".join(column for column, _ in OF_EVERY_TYPE)
    names = ", ".join(column.split()[0] for column, _ in OF_EVERY_TYPE)
    done = cqlsh(f"CREATE TABLE every ({columns}, PRIMARY KEY (id)); CREATE TABLE again ({columns}, PRIMARY KEY (id));")
    assert done.returncode == 0, done.stderr
    literal = "INSERT INTO every ({}) VALUES ({});"
    rows = [
        (number, "'a, ''b'''", number * 2**40, "0x00ff", "true", "'2024-02-29'", "1.50", f"{number / 7!r}", "1mo2d3ns", "0.25", "'2001:db8::1'", number,
         "'text, \"quoted\" | ü'", "'01:02:03.000000007'", "'2024-02-29 12:30:45.123+0000'", f"00000000-0000-1000-8000-{number:012x}", number % 128,
         f"00000000-0000-4000-8000-{number:012x}", (-3) ** number, f"[{number}, 0]", "{'one', 'two, {of} ''them'''}", "{'key: 1': [1, 0], 'other': []}",
         f"({number}, 'part')", "{n: 1, name: 'field'}", "[0.5, 0.25, -1]")
        for number in range(100)
    ]
    script = "\n".join(literal.format(names, ", ".join(map(str, row))) for row in rows)
    done = cql(server, "-k", "both", text=script)
    assert done.returncode == 0, done.stderr
    precise = "DOUBLEPRECISION = 17 AND FLOATPRECISION = 9"
    read = lambda file: sorted(csv.reader(file.open(newline=""), **DIALECT))
    files = [tmp_path / "theirs.csv", tmp_path / "ours.csv", tmp_path / "again.csv"]
    for shell, file in [(cqlsh, files[0]), (helenus, files[1])]:
        done = shell(f"COPY every ({names}) TO '{file}' WITH {precise} AND HEADER = true")
        assert done.returncode == 0 and "100 rows exported to 1 files" in done.stdout, done.stdout + done.stderr
    assert read(files[0]) == read(files[1])
    for source in files[:2]:
        done = helenus(f"TRUNCATE again; COPY again ({names}) FROM '{source}' WITH HEADER = true")
        assert done.returncode == 0 and "100 rows imported from 1 files" in done.stdout, done.stdout + done.stderr
        done = helenus(f"COPY again ({names}) TO '{files[2]}' WITH {precise} AND HEADER = true")
        assert read(files[2]) == read(files[0])
    done = cqlsh(f"TRUNCATE again; COPY again ({names}) FROM '{files[1]}' WITH HEADER = true AND PREPAREDSTATEMENTS = False")
    assert "100 rows imported" in done.stdout, done.stdout + done.stderr
    done = helenus(f"COPY again ({names}) TO '{files[2]}' WITH {precise} AND HEADER = true")
    assert read(files[2]) == read(files[0])
