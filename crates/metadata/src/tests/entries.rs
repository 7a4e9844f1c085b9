//! Entries of several domains: a toy domain beside the schema, there and back, in pieces, and refused.

use proptest::prelude::*;

use super::*;

/// A domain of numbered notes. In version 1 a change was one byte, the note; in version 2 a note and its table, if any follow.
struct Notes;

#[derive(Debug, Clone, Default, PartialEq)]
struct NotesState {
    notes: Vec<u8>,
    tables: BTreeSet<[u8; 16]>,
}

impl Domain for Notes {
    const ID: DomainId = DomainId(200);
    const NAME: &'static str = "notes";
    const VERSION: u8 = 2;
    type State = NotesState;
    type Change = NotesState;

    fn decode(version: u8, bytes: &[u8]) -> Result<NotesState, DecodeError> {
        let (notes, tables) = match (version, bytes.split_first_chunk::<16>()) {
            (1, _) | (_, None) => (bytes, BTreeSet::new()),
            (_, Some((table, notes))) => (notes, [*table].into()),
        };
        match notes.contains(&0) {
            true => Err(DecodeError::Invalid { problem: "a note is 0".to_owned() }),
            false => Ok(NotesState { notes: notes.to_vec(), tables }),
        }
    }

    fn apply(state: &NotesState, changes: Vec<NotesState>) -> NotesState {
        let mut next = state.clone();
        for change in changes {
            next.notes.extend(change.notes);
            next.tables.extend(change.tables);
        }
        next
    }

    fn snapshot(state: &NotesState) -> Option<Vec<u8>> {
        assert!(state.tables.len() < 2, "the toy has one table at most");
        (*state != NotesState::default())
            .then(|| [state.tables.iter().flatten().copied().collect(), state.notes.clone()].concat())
    }

    fn live_tables(state: &NotesState) -> BTreeSet<[u8; 16]> {
        state.tables.clone()
    }
}

/// Another domain with the number of [`Notes`].
struct Impostor;

impl Domain for Impostor {
    const ID: DomainId = Notes::ID;
    const NAME: &'static str = "impostor";
    const VERSION: u8 = 1;
    type State = ();
    type Change = ();

    fn decode(_: u8, _: &[u8]) -> Result<(), DecodeError> {
        Ok(())
    }

    fn apply((): &(), _: Vec<()>) {}

    fn snapshot((): &()) -> Option<Vec<u8>> {
        None
    }
}

fn both() -> Domains {
    domains().with::<Notes>()
}

fn notes(version: u8, bytes: &[u8]) -> Part {
    Part { domain: Notes::ID, version, bytes: bytes.to_vec() }
}

fn part_of(record: &Record) -> Part {
    match record {
        Record::Entry(entry) => entry.parts()[0].clone(),
        Record::Local(_) | Record::Group(_) | Record::Several(_) => panic!("{record:?} is no entry"),
    }
}

fn entry(parts: &[Part]) -> Record {
    Entry::new(parts.to_vec()).into()
}

/// The notes, keyspaces and truncations that a log results in, or why it does not open.
fn outcome(folder: &Folder, domains: fn() -> Domains) -> Result<(NotesState, Vec<String>, usize), String> {
    on_runtime(|rt| async move {
        let opened = MetadataLog::open(&rt, &folder.0, &domains()).await.map_err(|error| error.to_string())?;
        let keyspaces = opened.state.cluster.of::<SchemaDomain>().keyspaces().keys().map(|name| name.to_string());
        let keyspaces = keyspaces.collect();
        Ok((opened.state.cluster.of::<Notes>().clone(), keyspaces, opened.state.local.truncations().count()))
    })
}

fn lay(folder: &Folder, records: &[Record]) {
    let bytes = layout::file_of(records.iter().map(Record::to_bytes));
    std::fs::write(folder.log(), bytes).expect("the log can be written");
}

#[test]
fn an_entry_of_several_domains_is_applied_as_one() {
    let folder = Folder::new("several");
    let schema = part_of(&schema_record(vec![keyspace("k")]));
    on_runtime(|rt| async {
        let rt = rt;
        let log = MetadataLog::open(&rt, &folder.0, &both()).await.expect("the log opens").log;
        for record in [entry(&[schema, notes(2, &[5, 6])]), entry(&[notes(1, &[7])])] {
            log.append(&record).await.expect("a record is appended");
        }
    });
    let expected = NotesState { notes: vec![5, 6, 7], ..NotesState::default() };
    assert_eq!(outcome(&folder, both), Ok((expected, vec!["k".to_owned()], 0)));
    // Torn, none of its parts counts.
    let whole = records_of(&folder);
    std::fs::write(folder.log(), &whole[..BLOCK + 30]).expect("the log can be written");
    assert_eq!(outcome(&folder, both), Ok((NotesState::default(), Vec::new(), 0)));
}

#[test]
fn an_entry_has_these_bytes() {
    let schema = part_of(&schema_record(vec![SchemaChange::DropKeyspace("k".to_owned())]));
    // One change of the schema has a kind of its own.
    assert_eq!(entry(std::slice::from_ref(&schema)).to_bytes(), [3, 1, 1, 2, 1, b'k']);
    let several = entry(&[schema, notes(2, &[9, 8])]);
    assert_eq!(several.to_bytes(), [6, 1, 2, 2, 1, 5, 1, 1, 2, 1, b'k', 200, 2, 2, 9, 8]);
    assert_eq!(Record::decode(&several.to_bytes()), Ok(several));
}

#[test]
fn a_long_log_of_several_domains_is_compacted_to_one_entry_each() {
    let folder = Folder::new("several-long");
    let [gone, kept] = [[1; 16], [2; 16]];
    let truncated = |table| Record::from(Fact::Truncated(Truncation { table, positions: Vec::new(), mark: None }));
    let mut records = vec![host_id(), boot(1), truncated(gone), truncated(kept)];
    records.push(entry(&[notes(2, &[&kept[..], &[3]].concat())]));
    records.push(schema_record(vec![keyspace("k")]));
    for number in 2..1100 {
        records.push(boot(number));
    }
    lay(&folder, &records);
    let expected = NotesState { notes: vec![3], tables: [kept].into() };
    for _ in 0..2 {
        let found = outcome(&folder, both).expect("the log opens");
        assert_eq!((&found.0, &found.1), (&expected, &vec!["k".to_owned()]));
    }
    let schema = schema_record(vec![keyspace("k")]);
    let notes = entry(&[notes(2, &[&kept[..], &[3]].concat())]);
    let compacted = [host_id(), boot(1099), schema, notes, truncated(kept)];
    assert_eq!(records_of(&folder), layout::file_of(compacted.iter().map(Record::to_bytes)));
}

#[test]
fn entries_that_cannot_be_applied_are_refused_in_one_sentence() {
    let folder = Folder::new("refused");
    let refusal = |record: &Record, domains| {
        lay(&folder, &[host_id(), boot(1), record.clone(), boot(2)]);
        let before = records_of(&folder);
        let sentence = outcome(&folder, domains).expect_err("it cannot be applied");
        assert_eq!(records_of(&folder), before, "nothing is written");
        sentence
    };
    let one = entry(&[notes(1, &[1])]);
    let unknown = refusal(&one, domains);
    assert!(unknown.ends_with("contains a change of the unknown domain 200, written by a newer Helenus"));
    let newer = refusal(&entry(&[part_of(&schema_record(Vec::new())), notes(3, &[1])]), both);
    assert!(newer.ends_with("was written in format version 3 by a newer Helenus, and this one reads up to version 2"));
    let bad = refusal(&entry(&[notes(2, &[0])]), both);
    assert!(bad.ends_with("metadata.log is damaged at byte 12288: a note is 0"), "{bad}");
    let none = refusal(&entry(&[notes(0, &[1])]), both);
    assert!(none.ends_with("is damaged at byte 12288: a change of domain notes has format version 0"), "{none}");
    // A change of the schema within the part has a version too.
    let schema = Part { bytes: vec![1, 9, 2], ..part_of(&schema_record(Vec::new())) };
    let newer = refusal(&entry(&[schema]), both);
    assert!(newer.ends_with("was written in format version 9 by a newer Helenus, and this one reads up to version 3"));
}

#[test]
fn bytes_that_are_no_entry_are_refused() {
    let problem = |bytes: &[u8]| Record::decode(bytes).expect_err("no entry").to_string();
    assert_eq!(problem(&[6, 0, 1, 200, 1, 0]), "an entry has format version 0");
    assert_eq!(problem(&[6, 3, 1, 200, 1, 0]), "record of format version 3; this Helenus reads up to 2");
    assert_eq!(problem(&[6, 1, 0]), "an entry has 0 parts");
    assert_eq!(problem(&[6, 1, 2, 200, 1, 0, 200, 1, 0]), "parts of an entry are not ordered by domain");
    assert_eq!(problem(&[6, 1, 1, 200, 1, 0, 7]), "1 trailing bytes");
    assert_eq!(problem(&[10, 0, 0]), "several records have format version 0");
    assert_eq!(problem(&[10, 2, 0]), "record of format version 2; this Helenus reads up to 1");
    assert_eq!(problem(&[10, 1, 1, 2, 10, 1]), "unknown record kind 10", "none within itself");
    assert_eq!(problem(&[10, 1, 0, 7]), "1 trailing bytes");
    for kind in [0, 12] {
        assert_eq!(problem(&[kind, 1, 1]), format!("unknown record kind {kind}"));
    }
}

#[test]
#[should_panic(expected = "domains notes and impostor have the same number, 200")]
fn two_domains_of_one_number_are_refused() {
    let _ = both().with::<Impostor>();
}

#[test]
#[should_panic(expected = "an entry's parts are in the order of their domains, one of each")]
fn an_entry_has_one_part_of_each_domain() {
    let _ = entry(&[notes(1, &[1]), notes(1, &[2])]);
}

proptest! {
    #[test]
    fn entries_come_back(
        changes in prop::collection::btree_map(any::<u8>(), (any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 1..6),
    ) {
        let part = |(domain, (version, bytes))| Part { domain: DomainId(domain), version, bytes };
        let record = Record::from(Entry::new(changes.into_iter().map(part).collect()));
        prop_assert_eq!(Record::decode(&record.to_bytes()), Ok(record));
    }
}
