//! Histories that hold, and such as do not: each is one mistake that a group of nodes might make.

use super::*;

/// A history of keyspace g0, one statement after the other unless a test says more, and what the nodes show in the end.
#[derive(Default)]
struct Case {
    history: SchemaHistory,
    time: u64,
    view: SchemaView,
}

const CREATE: SchemaAsked = SchemaAsked::CreateKeyspace { if_not_exists: false };
const ENSURE: SchemaAsked = SchemaAsked::CreateKeyspace { if_not_exists: true };
const DROP: SchemaAsked = SchemaAsked::DropKeyspace { if_exists: false };

fn table(table: TableNumber, tag: Tag) -> SchemaAsked {
    SchemaAsked::CreateTable { table, tag, if_not_exists: false }
}

fn column(table: TableNumber, tag: Tag) -> SchemaAsked {
    SchemaAsked::AddColumn { table, tag }
}

fn drop_table(table: TableNumber) -> SchemaAsked {
    SchemaAsked::DropTable { table, if_exists: false }
}

impl Case {
    fn of(statements: &[(SchemaAsked, SchemaTold)]) -> Case {
        let mut case = Case::default();
        for (asked, told) in statements {
            let start = case.time;
            case.time += 10;
            case.between(start, start + 5, asked.clone(), told.clone());
        }
        case
    }

    /// A statement that was sent and answered at these times.
    fn between(&mut self, start: u64, end: u64, asked: SchemaAsked, told: SchemaTold) {
        let place = self.history.sent(0, asked, 0, start);
        self.history.answered(0, place, told, end);
        self.time = self.time.max(end + 1);
    }

    /// The keyspace is there in the end.
    fn keyspace(mut self) -> Case {
        self.view.keyspaces.insert(0, KeyspaceState { durable_writes: true, ..KeyspaceState::default() });
        self
    }

    /// And this table of it.
    fn shows(mut self, number: TableNumber, made_by: Tag, columns: &[Tag]) -> Case {
        let state = self.view.keyspaces.get_mut(&0).expect("the keyspace is there");
        state.tables.insert(number, TableState { made_by, columns: columns.iter().copied().collect() });
        self
    }

    fn violations(mut self) -> Vec<String> {
        let (view, time) = (self.view, self.time + 100);
        note_look(&mut self.history, 1, &view, time, time + 1);
        judge(&self.history, &[(0, view.clone()), (1, view)])
    }

    fn assert_holds(self) {
        assert_eq!(self.violations(), Vec::<String>::new());
    }

    /// A violation says these words.
    fn assert_fails(self, words: &str) {
        let violations = self.violations();
        assert!(violations.iter().any(|what| what.contains(words)), "'{words}' is not in {violations:#?}");
    }
}

use SchemaTold::{Changed, Exists, Missing, Nothing, NothingDone, Unchanged};

#[test]
fn one_after_the_other_holds() {
    Case::of(&[
        (table(0, 1), Missing),
        (CREATE, Changed),
        (CREATE, Exists),
        (ENSURE, Unchanged),
        (table(0, 2), Changed),
        (table(0, 3), Exists),
        (column(0, 4), Changed),
        (SchemaAsked::AlterKeyspace { durable_writes: true }, Unchanged),
        (drop_table(1), Missing),
        (SchemaAsked::DropTable { table: 1, if_exists: true }, Unchanged),
        (table(1, 5), Changed),
        (drop_table(1), Changed),
        (table(2, 6), NothingDone),
    ])
    .keyspace()
    .shows(0, 2, &[4])
    .assert_holds();
    Case::of(&[(CREATE, Changed), (table(0, 1), Changed), (DROP, Changed), (DROP, Missing)]).assert_holds();
}

#[test]
fn what_was_acknowledged_and_is_gone_is_found() {
    Case::of(&[(CREATE, Changed)]).assert_fails("CreateKeyspace { if_not_exists: false } was acknowledged and is gone");
    let made = [(CREATE, Changed), (table(0, 1), Changed), (column(0, 2), Changed)];
    Case::of(&made).keyspace().assert_fails("CreateTable { table: 0, tag: 1, if_not_exists: false } was acknowledged");
    Case::of(&made).keyspace().shows(0, 1, &[]).assert_fails("AddColumn { table: 0, tag: 2 } was acknowledged");
    let altered = [(CREATE, Changed), (SchemaAsked::AlterKeyspace { durable_writes: false }, Changed)];
    Case::of(&altered).keyspace().assert_fails("nothing explains");
}

#[test]
fn what_was_dropped_and_is_back_is_found() {
    let dropped = [(CREATE, Changed), (table(0, 1), Changed), (drop_table(0), Changed)];
    Case::of(&dropped).keyspace().shows(0, 1, &[]).assert_fails("was dropped, which was acknowledged, and is back");
    let keyspace = [(CREATE, Changed), (table(0, 1), Changed), (DROP, Changed), (CREATE, Changed)];
    Case::of(&keyspace).keyspace().assert_holds();
    Case::of(&keyspace).keyspace().shows(0, 1, &[]).assert_fails("is back");
    Case::of(&keyspace[..3]).keyspace().assert_fails("nothing explains");
    let again = [&dropped[..], &[(column(0, 2), Missing), (table(0, 3), Changed)]].concat();
    Case::of(&again).keyspace().shows(0, 3, &[]).assert_holds();
    Case::of(&again).keyspace().shows(0, 3, &[2]).assert_fails("2 is in g0.t0, and its client was answered Missing");
}

#[test]
fn a_column_of_a_dropped_table_is_not_of_the_next_one() {
    let made = [(CREATE, Changed), (table(0, 1), Changed), (column(0, 2), Changed), (drop_table(0), Changed)];
    let again = [&made[..], &[(table(0, 3), Changed)]].concat();
    Case::of(&again).keyspace().shows(0, 3, &[]).assert_holds();
    Case::of(&again).keyspace().shows(0, 3, &[2]).assert_fails("is back");
}

#[test]
fn an_effect_that_is_there_twice_is_found() {
    let made = [(CREATE, Changed), (table(0, 1), Changed), (table(1, 2), Changed)];
    let case = Case::of(&made).keyspace().shows(0, 1, &[]).shows(1, 1, &[]);
    case.assert_fails("the effect of statement 1 is there twice: [\"g0.t0\", \"g0.t1\"]");
    // A proposal that was repeated: the second time it finds what the first one made.
    let repeated = [(CREATE, Changed), (table(0, 1), Exists)];
    Case::of(&repeated).keyspace().shows(0, 1, &[]).assert_fails("its client was answered Exists");
    let column_again = [(CREATE, Changed), (table(0, 1), Changed), (column(0, 2), Exists)];
    Case::of(&column_again).keyspace().shows(0, 1, &[]).assert_fails("nothing explains");
    // Made, dropped by another client, and made again by the repetition.
    let mut back = Case::of(&[(CREATE, Changed)]);
    back.between(20, 60, table(0, 1), Changed);
    back.between(30, 40, drop_table(0), Changed);
    back.between(42, 44, column(0, 2), Missing);
    back.between(46, 48, column(0, 3), Changed);
    back.keyspace().shows(0, 1, &[3]).assert_fails("nothing explains");
}

#[test]
fn what_no_statement_made_is_found() {
    Case::of(&[(CREATE, Changed)]).keyspace().shows(0, 9, &[]).assert_fails("no statement put 9 into g0.t0");
    let made = [(CREATE, Changed), (table(0, 1), Changed)];
    Case::of(&made).keyspace().shows(0, 1, &[8]).assert_fails("no statement put 8 into g0.t0");
    Case::of(&made).keyspace().shows(0, 1, &[1]).assert_fails("no statement put 1 into g0.t0");
    Case::of(&[(DROP, Missing)]).keyspace().assert_fails("no statement made keyspace g0");
    let mut odd = Case::of(&[(CREATE, Changed)]).keyspace();
    odd.view.odd.push("a row".to_owned());
    odd.assert_fails("node 1: a row");
}

#[test]
fn a_refusal_that_did_something_is_found() {
    let refused = [(CREATE, Changed), (table(0, 1), NothingDone)];
    Case::of(&refused).keyspace().assert_holds();
    Case::of(&refused).keyspace().shows(0, 1, &[]).assert_fails("its client was answered NothingDone");
    Case::of(&[(CREATE, NothingDone)]).keyspace().assert_fails("no statement made keyspace g0");
}

#[test]
fn a_refusal_that_nothing_explains_is_found() {
    Case::of(&[(CREATE, Changed), (CREATE, Exists), (DROP, Missing)]).keyspace().assert_fails("nothing explains");
    Case::of(&[(CREATE, Exists)]).assert_fails("nothing explains");
    Case::of(&[(ENSURE, Unchanged)]).assert_fails("nothing explains");
    // A stale node answers that the keyspace is not there, long after its creation was acknowledged.
    let stale = [(CREATE, Changed), (table(0, 1), Changed), (table(0, 2), Missing)];
    Case::of(&stale).keyspace().shows(0, 1, &[]).assert_fails("nothing explains");
}

#[test]
fn of_two_that_make_the_same_name_one_is_refused() {
    let mut both = Case::default();
    both.between(0, 9, CREATE, Changed);
    both.between(1, 8, CREATE, Changed);
    both.keyspace().assert_fails("nothing explains");
    let mut one = Case::default();
    one.between(0, 9, CREATE, Changed);
    one.between(1, 8, CREATE, Exists);
    one.keyspace().assert_holds();
    let mut ensured = Case::default();
    ensured.between(0, 9, ENSURE, Changed);
    ensured.between(1, 8, ENSURE, Changed);
    ensured.keyspace().assert_fails("nothing explains");
    let mut with_a_drop = Case::default();
    with_a_drop.between(0, 9, CREATE, Changed);
    with_a_drop.between(1, 8, CREATE, Changed);
    with_a_drop.between(2, 7, DROP, Changed);
    with_a_drop.keyspace().assert_holds();
}

#[test]
fn what_was_not_answered_may_be_there_or_not_and_at_one_moment() {
    let asked = [(CREATE, Changed), (table(0, 1), Nothing)];
    Case::of(&asked).keyspace().assert_holds();
    Case::of(&asked).keyspace().shows(0, 1, &[]).assert_holds();
    let seen = [&asked[..], &[(table(0, 2), Exists), (column(0, 3), Missing)]].concat();
    Case::of(&seen).keyspace().assert_fails("nothing explains");
    let gone = [&asked[..], &[(table(0, 2), Exists), (drop_table(0), Changed)]].concat();
    Case::of(&gone).keyspace().assert_holds();
    // It cannot come once more after it was dropped.
    Case::of(&gone).keyspace().shows(0, 1, &[]).assert_fails("nothing explains");
    let dropped = [(CREATE, Changed), (table(0, 1), Changed), (DROP, Nothing)];
    Case::of(&dropped).keyspace().shows(0, 1, &[]).assert_holds();
    Case::of(&dropped).assert_holds();
    Case::of(&dropped).keyspace().assert_fails("nothing explains");
}

#[test]
fn refusals_without_a_reason_are_violations() {
    let mut case = Case::of(&[(CREATE, Changed)]).keyspace();
    case.history.violations.push("CREATE KEYSPACE g0: no reason".to_owned());
    case.assert_fails("no reason");
}

#[test]
fn nodes_that_differ_are_named() {
    let view = SchemaView { version: "a".to_owned(), rows: vec!["one".into(), "two".into()], ..SchemaView::default() };
    let same = [(0, view.clone()), (2, view.clone())];
    assert_eq!(differences(&same), Vec::<String>::new());
    let later = SchemaView { version: "b".to_owned(), ..view.clone() };
    assert_eq!(differences(&[(0, view.clone()), (2, later)]), ["node 0 is at version a, node 2 at b"]);
    let other = SchemaView { rows: vec!["one".into(), "three".into()], ..view.clone() };
    let named = ["node 0 has, and node 2 has not: two", "node 2 has, and node 0 has not: three"];
    assert_eq!(differences(&[(0, view.clone()), (2, other)]), named);
    let twice = SchemaView { rows: vec!["one".into(), "two".into(), "two".into()], ..view.clone() };
    assert_eq!(differences(&[(0, view), (2, twice)]), ["node 0 has 2 rows of system_schema, node 2 3"]);
}
