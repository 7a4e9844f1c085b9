"""Types of several values, nested ones too, both ways in both Python drivers; and what becomes of prepared statements when their table or type is altered."""

import collections
import uuid

import pytest
from cassandra import InvalidRequest
from cassandra.util import Date, Duration, OrderedMapSerializedKey, SortedSet

Address = collections.namedtuple("Address", "street number tags")
Person = collections.namedtuple("Person", "name home phones place")

HOME = Address("Ἴλιον", 7, {"", "old"})
BARE = Address(None, None, None)
FULL = Person("Helenus", HOME, {"work": "1"}, (39.9, 26.2))
HALF = Person("", BARE, {}, None)
MIXED = (1, "", True)
ONE = uuid.UUID(int=1)

# A type as CQL writes it, and values of it: empty, extreme, with nothing inside.
NESTED = {
    "list<int>": [[3, 1, 3, -(2**31)], []],
    "set<text>": [{"", "a", "b"}, set()],
    "map<text, int>": [{"b": 2, "": 0}, {}],
    "list<duration>": [[Duration(0, 0, 1)]],
    "map<date, inet>": [{Date(0): "::1"}],
    "frozen<list<text>>": [["b", "a", ""], []],
    "frozen<set<int>>": [{1, -1, 0}, set()],
    "frozen<map<int, boolean>>": [{-1: True, 1: False}, {}],
    "list<frozen<list<int>>>": [[[1, 2], [], [3]], []],
    "set<frozen<set<int>>>": [{frozenset(), frozenset({1}), frozenset({1, 2})}],
    "map<text, frozen<map<int, frozen<set<uuid>>>>>": [{"x": {1: {ONE}, 2: set()}, "y": {}}],
    # A dict's keys must not be lists: these are pairs, in their own order.
    "frozen<map<frozen<list<int>>, frozen<list<text>>>>": [[((), []), ((1, 2), ["a"])]],
    "tuple<int, text, boolean>": [MIXED, (None, "x", None), (None, None, None)],
    "tuple<int, frozen<list<frozen<address>>>, frozen<tuple<int, text, boolean>>>": [(1, [HOME, BARE], MIXED), (None, [], None)],
    "frozen<address>": [HOME, BARE],
    "frozen<person>": [FULL, HALF],
    "person": [FULL, HALF],
    "list<frozen<address>>": [[HOME, BARE, HOME], []],
    "set<frozen<tuple<int, text, boolean>>>": [{MIXED, (2, None, None)}],
    "map<text, frozen<person>>": [{"full": FULL, "half": HALF}],
    "vector<float, 3>": [[1.5, -0.25, 2.0**100]],
    "vector<int, 2>": [[-(2**31), 2**31 - 1]],
    "vector<text, 3>": [["", "a", "ἄ" * 200]],
    "vector<vector<double, 2>, 2>": [[[1.0, 2.0], [-3.0, 4.0]]],
    "list<frozen<vector<float, 2>>>": [[[1.0, 2.0], [3.0, 4.0]]],
}

def shown(value):
    """The value as plain lists, whichever of the driver's own containers it came in."""
    if isinstance(value, (dict, OrderedMapSerializedKey)):
        return ["map", *sorted(([shown(key), shown(element)] for key, element in value.items()), key=str)]
    if isinstance(value, (set, frozenset, SortedSet)):
        return ["set", *sorted(map(shown, value), key=str)]
    if isinstance(value, (list, tuple)):
        return [shown(element) for element in value]
    return value


def is_no_element(kind, value):
    """Each element of these is a cell of its own, so that none at all reads as null."""
    return kind.startswith(("list", "set", "map")) and not value


@pytest.fixture(scope="module")
def typed(session):
    session.execute("CREATE TYPE address (street text, number int, tags frozen<set<text>>)")
    session.execute("CREATE TYPE person (name text, home frozen<address>, phones frozen<map<text, text>>, place frozen<tuple<double, double>>)")
    session.cluster.register_user_type("tested", "address", Address)
    session.cluster.register_user_type("tested", "person", Person)
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(NESTED))
    session.execute(f"CREATE TABLE typed (id int PRIMARY KEY, {columns})")
    return session


@pytest.mark.parametrize("kind", NESTED)
def test_nested_round_trip(typed, kind):
    number = list(NESTED).index(kind)
    insert = typed.prepare(f"INSERT INTO typed (id, c{number}) VALUES (?, ?)")
    select = typed.prepare(f"SELECT c{number} FROM typed WHERE id = ?")
    for index, value in enumerate([*NESTED[kind], None]):
        is_pairs = kind.startswith("frozen<map<frozen<list")
        sent = Pairs(value) if is_pairs and value is not None else value
        typed.execute(insert, (number * 100 + index, sent))
        back = typed.execute(select, (number * 100 + index,)).one()[0]
        if value is None or is_no_element(kind, value):
            assert not back, (kind, value, back)
        elif is_pairs:
            assert shown(list(back.items())) == shown(value)
        else:
            assert shown(back) == shown(value), kind


class Pairs:
    """A map as the driver sends one, of keys that no dict takes."""

    def __init__(self, pairs):
        self.pairs = pairs

    def items(self):
        return self.pairs

    def __len__(self):
        return len(self.pairs)


def test_types_as_the_driver_sees_them(typed):
    typed.cluster.refresh_keyspace_metadata("tested")
    keyspace = typed.cluster.metadata.keyspaces["tested"]
    assert keyspace.user_types["person"].field_names == ["name", "home", "phones", "place"]
    assert keyspace.user_types["person"].field_types == ["text", "frozen<address>", "frozen<map<text, text>>", "frozen<tuple<double, double>>"]
    columns = keyspace.tables["typed"].columns
    assert [columns[f"c{number}"].cql_type for number in range(len(NESTED))] == [as_described(kind) for kind in NESTED]


def as_described(kind):
    """A tuple is frozen, said or not; a vector never is said to be."""
    kind = kind.replace("frozen<vector<float, 2>>", "vector<float, 2>")
    return f"frozen<{kind}>" if kind.startswith("tuple") else kind


def test_nested_values_as_keys(typed):
    typed.execute("""
        CREATE TABLE nested_keys (a frozen<map<int, text>>, b tuple<int, text>, c frozen<list<int>>, d int, PRIMARY KEY ((a, b), c))
        WITH CLUSTERING ORDER BY (c DESC)""")
    insert = typed.prepare("INSERT INTO nested_keys (a, b, c, d) VALUES (?, ?, ?, ?)")
    key, up = ({1: "one", 2: "two"}, (7, "seven")), [[], [-1], [1], [1, 2], [2]]
    for value in up:
        typed.execute(insert, (*key, value, len(value)))
    rows = typed.execute(typed.prepare("SELECT c, d FROM nested_keys WHERE a = ? AND b = ?"), key).all()
    assert [(row.c or []) for row in rows] == list(reversed(up))
    one = typed.prepare("SELECT d FROM nested_keys WHERE a = ? AND b = ? AND c = ?")
    assert typed.execute(one, (*key, [1, 2])).one().d == 2


def test_a_prepared_statement_goes_on_after_columns_were_added(node, session):
    session.execute("CREATE TABLE grown (a int PRIMARY KEY, b int)")
    star = session.prepare("SELECT * FROM grown WHERE a = ?")
    insert = session.prepare("INSERT INTO grown (a, b) VALUES (?, ?)")
    session.execute(insert, (1, 2))
    assert session.execute(star, (1,)).one() == (1, 2)
    session.execute("ALTER TABLE grown ADD (aa text, z list<int>)")
    session.execute("UPDATE grown SET aa = 'new', z = [1] WHERE a = 1")
    session.execute(insert, (2, 3))
    if node.protocol >= 5:
        # Before version 5 nobody tells the driver that what it knows of the result is old.
        assert session.execute(star, (1,)).one() == (1, "new", 2, [1])
    assert session.execute(session.prepare("SELECT a, aa, b, z FROM grown WHERE a = ?"), (2,)).one() == (2, None, 3, None)


def test_a_prepared_statement_of_what_is_gone_is_refused(session):
    session.execute("CREATE TABLE shrunk (k int PRIMARY KEY, b int, c int)")
    session.execute("INSERT INTO shrunk (k, b, c) VALUES (1, 2, 3)")
    whole, rest = session.prepare("SELECT k, b, c FROM shrunk WHERE k = ?"), session.prepare("SELECT b FROM shrunk WHERE k = ?")
    assert session.execute(whole, (1,)).one() == (1, 2, 3)
    session.execute("ALTER TABLE shrunk DROP c")
    with pytest.raises(InvalidRequest):
        session.execute(whole, (1,))
    assert session.execute(rest, (1,)).one() == (2,)
    session.execute("ALTER TABLE shrunk RENAME k TO key")
    with pytest.raises(InvalidRequest):
        session.execute(rest, (1,))
    assert session.execute(session.prepare("SELECT b FROM shrunk WHERE key = ?"), (1,)).one() == (2,)


def test_a_field_is_added_to_a_type(session):
    session.execute("CREATE TYPE growing (a int)")
    session.execute("CREATE TABLE holding (k int PRIMARY KEY, v frozen<growing>)")
    session.execute("INSERT INTO holding (k, v) VALUES (1, {a: 5})")
    select = "SELECT v FROM holding WHERE k = ?"
    assert session.execute(session.prepare(select), (1,)).one().v.a == 5
    session.execute("ALTER TYPE growing ADD b text")
    session.execute("INSERT INTO holding (k, v) VALUES (2, {a: 6, b: 'six'})")
    back = session.execute(session.prepare(select), (2,)).one().v
    assert (back.a, back.b) == (6, "six")
    assert session.execute(session.prepare(select), (1,)).one().v.a == 5
