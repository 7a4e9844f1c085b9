"""cqlsh as its users type it: DESCRIBE, COPY in both directions, a session like the README's."""

import csv
import pathlib

import pytest

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


def test_errors_are_shown_and_the_shell_goes_on(server):
    done = run(server, text="SELECT * FROM nowhere.nothing;\nSELEKT;\nSELECT cluster_name FROM system.local;\n")
    assert "InvalidRequest" in done.stderr and "SyntaxException" in done.stderr
    assert "Test Cluster" in done.stdout


def readme_session():
    """The README's first session: what is typed at the prompts, and the lines that it shows in answer."""
    readme = (pathlib.Path(__file__).parents[3] / "README.md").read_text()
    session = readme.split("$ cqlsh 127.0.0.1\n", 1)[1].split("```", 1)[0]
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
