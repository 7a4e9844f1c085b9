//! YCSB's core workloads: its operations on its table, as its binding for Cassandra does them (`CoreWorkload`, `CassandraCQLClient`).
//!
//! One thing is different: a value follows from its record and its field, so an update writes what is there, as a new cell, and whatever is read
//! can be compared.

mod keys;
mod zipfian;

use scylla::client::session::Session;
use scylla::response::query_result::QueryResult;
use scylla::statement::prepared::PreparedStatement;
use scylla::value::CqlValue;

use self::keys::Keys;
use self::zipfian::Zipfian;
use super::population::Population;
use super::rows::Rows;
use super::settings::{Kind, ScanLength, SchemaSettings, Settings, Transaction, YcsbSettings, quoted};
use super::standard::check;
use super::target::{self, Done, Failure, Visit, Work, execute};
use crate::StressError;
use crate::random::{below, fraction, next_random};

/// A workload's operations.
#[derive(Debug)]
pub(crate) struct Ycsb {
    settings: YcsbSettings,
    keys: Keys,
    rows: Rows,
    /// Whether rows that are read are compared.
    validated: bool,
    statements: Statements,
}

/// The statements: what reads or writes one field has one for each.
#[derive(Debug, Default)]
struct Statements {
    reads: Vec<PreparedStatement>,
    updates: Vec<PreparedStatement>,
    scans: Vec<PreparedStatement>,
    insert: Option<PreparedStatement>,
}

/// Which fields an operation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fields {
    All,
    One(usize),
}

/// Makes the keyspace and the table, if they are not there.
pub(crate) async fn create_schema(
    session: &Session,
    settings: &Settings,
    ycsb: &YcsbSettings,
) -> Result<(), StressError> {
    target::run(session, "make the keyspace", &settings.schema.create_keyspace()).await?;
    let text = settings.schema.create_texts(&ycsb.table, "y_id", &ycsb.fields());
    target::run(session, "make the table", &text).await
}

impl Ycsb {
    /// Prepares the statements of these kinds. Fails if the table is not there.
    pub(crate) async fn prepare(
        session: &Session,
        settings: &Settings,
        ycsb: &YcsbSettings,
    ) -> Result<Ycsb, StressError> {
        let mut statements = Statements::default();
        let texts = Texts::of(&settings.schema, ycsb);
        let needs = |transactions: &[Transaction]| {
            let is_one = |kind: &Kind| matches!(kind, Kind::Ycsb(transaction) if transactions.contains(transaction));
            settings.command.kinds.iter().any(|(kind, _)| is_one(kind))
        };
        if needs(&[Transaction::Read, Transaction::ReadModifyWrite]) {
            statements.reads = prepare_all(session, texts.reads()).await?;
        }
        if needs(&[Transaction::Update, Transaction::ReadModifyWrite]) {
            statements.updates = prepare_all(session, texts.updates()).await?;
        }
        if needs(&[Transaction::Scan]) {
            statements.scans = prepare_all(session, texts.scans()).await?;
        }
        if needs(&[Transaction::Insert]) {
            statements.insert = Some(target::prepare(session, OF, texts.insert()).await?);
        }
        Ok(Ycsb {
            keys: Keys::new(ycsb),
            rows: Rows::of_text(ycsb.field_count, ycsb.field_length.clone()),
            validated: settings.errors.validated,
            settings: ycsb.clone(),
            statements,
        })
    }

    /// Draws the record that an operation is about; a load takes one after another.
    pub(crate) fn visit(&self, kind: Kind, population: &Population, random: &mut u64) -> Option<Visit> {
        let record = match kind {
            _ if self.settings.is_load => population.next()?,
            Kind::Ycsb(Transaction::Insert) => self.keys.insert(),
            _ => self.keys.choose(random),
        };
        Some(Visit::whole(record))
    }

    /// Takes note that an operation is over.
    pub(crate) fn settle(&self, work: &Work) {
        if work.kind == Kind::Ycsb(Transaction::Insert) && !self.settings.is_load {
            self.keys.settle(work.visits[0].seed);
        }
    }

    /// Does one operation.
    pub(crate) async fn perform(
        &self,
        session: &Session,
        work: &Work,
        values: &mut Vec<Vec<u8>>,
    ) -> Result<Done, Failure> {
        let Kind::Ycsb(transaction) = work.kind else { unreachable!("a workload has its own kinds") };
        let record = work.visits[0].seed;
        let mut random = work.random;
        let read = self.fields(self.settings.reads_all, &mut random);
        let written = self.fields(self.settings.writes_all, &mut random);
        match transaction {
            Transaction::Read => self.read(session, record, read, values).await,
            Transaction::Update => self.update(session, record, written, values).await,
            Transaction::ReadModifyWrite => {
                self.read(session, record, read, values).await?;
                self.update(session, record, written, values).await
            }
            Transaction::Insert => self.insert(session, record, values).await,
            Transaction::Scan => {
                let length = self.scan_length(&mut random);
                let statement = &self.statements.scans[read.statement()];
                let result = execute(session, statement, (self.keys.key(record), length)).await?;
                // The record itself is among them.
                match row_count(result)? {
                    0 => Err(Failure::Missing),
                    rows => Ok(Done { partitions: rows, rows }),
                }
            }
        }
    }

    fn fields(&self, is_all: bool, random: &mut u64) -> Fields {
        let one = below(next_random(random), self.settings.field_count as u64) as usize;
        if is_all { Fields::All } else { Fields::One(one) }
    }

    fn scan_length(&self, random: &mut u64) -> i32 {
        let (least, most) = self.settings.scan_range;
        let count = most - least + 1;
        let more = match self.settings.scan_length {
            ScanLength::Uniform => below(next_random(random), count),
            ScanLength::Zipfian => Zipfian::new(count).rank(fraction(next_random(random))),
        };
        (least + more) as i32
    }

    /// Lays down the values of these fields.
    fn fill(&self, record: u64, fields: Fields, values: &mut Vec<Vec<u8>>) {
        self.rows.fill(record, values);
        if let Fields::One(field) = fields {
            values.swap(0, field);
            values.truncate(1);
        }
    }

    async fn read(
        &self,
        session: &Session,
        record: u64,
        fields: Fields,
        values: &mut Vec<Vec<u8>>,
    ) -> Result<Done, Failure> {
        let result = execute(session, &self.statements.reads[fields.statement()], (self.keys.key(record),)).await?;
        if self.validated {
            self.fill(record, fields, values);
        }
        check(result, self.validated.then_some(values.as_slice()))
    }

    async fn update(
        &self,
        session: &Session,
        record: u64,
        fields: Fields,
        values: &mut Vec<Vec<u8>>,
    ) -> Result<Done, Failure> {
        self.fill(record, fields, values);
        let mut bound: Vec<CqlValue> = values.iter().map(|value| text(value)).collect();
        bound.push(CqlValue::Text(self.keys.key(record)));
        execute(session, &self.statements.updates[fields.statement()], bound).await.map(|_| Done::ROW)
    }

    async fn insert(&self, session: &Session, record: u64, values: &mut Vec<Vec<u8>>) -> Result<Done, Failure> {
        let statement = self.statements.insert.as_ref().expect("each kind of the command is prepared");
        self.fill(record, Fields::All, values);
        let mut bound = vec![CqlValue::Text(self.keys.key(record))];
        bound.extend(values.iter().map(|value| text(value)));
        execute(session, statement, bound).await.map(|_| Done::ROW)
    }
}

impl Fields {
    /// Which of the statements is theirs: there is one for all fields, or one for each.
    fn statement(self) -> usize {
        match self {
            Fields::All => 0,
            Fields::One(field) => field,
        }
    }
}

fn text(value: &[u8]) -> CqlValue {
    CqlValue::Text(String::from_utf8(value.to_vec()).expect("fields are made of letters"))
}

fn row_count(result: QueryResult) -> Result<u64, Failure> {
    let rows = result.into_rows_result().map_err(|error| Failure::Malformed(error.to_string()))?;
    Ok(rows.rows_num() as u64)
}

/// What cannot be prepared, in an error.
const OF: &str = "a statement (ycsb load makes the table)";

async fn prepare_all(session: &Session, texts: Vec<String>) -> Result<Vec<PreparedStatement>, StressError> {
    let mut statements = Vec::with_capacity(texts.len());
    for text in texts {
        statements.push(target::prepare(session, OF, text).await?);
    }
    Ok(statements)
}

/// The statements' texts.
struct Texts {
    table: String,
    fields: Vec<String>,
    reads_all: bool,
    writes_all: bool,
}

impl Texts {
    fn of(schema: &SchemaSettings, ycsb: &YcsbSettings) -> Texts {
        Texts {
            table: schema.table(&ycsb.table),
            fields: ycsb.fields().iter().map(|field| quoted(field)).collect(),
            reads_all: ycsb.reads_all,
            writes_all: ycsb.writes_all,
        }
    }

    /// What is selected: everything at once, or each field by itself.
    fn selected(&self) -> Vec<&str> {
        if self.reads_all { vec!["*"] } else { self.fields.iter().map(String::as_str).collect() }
    }

    fn reads(&self) -> Vec<String> {
        let read = |selected| format!("SELECT {selected} FROM {} WHERE y_id = ? LIMIT 1", self.table);
        self.selected().into_iter().map(read).collect()
    }

    fn scans(&self) -> Vec<String> {
        let scan = |selected| format!("SELECT {selected} FROM {} WHERE token(y_id) >= token(?) LIMIT ?", self.table);
        self.selected().into_iter().map(scan).collect()
    }

    fn updates(&self) -> Vec<String> {
        let sets: Vec<String> = self.fields.iter().map(|field| format!("{field} = ?")).collect();
        let sets = if self.writes_all { vec![sets.join(", ")] } else { sets };
        sets.into_iter().map(|set| format!("UPDATE {} SET {set} WHERE y_id = ?", self.table)).collect()
    }

    fn insert(&self) -> String {
        let markers = vec!["?"; self.fields.len() + 1].join(", ");
        format!("INSERT INTO {} (y_id, {}) VALUES ({markers})", self.table, self.fields.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_for_all_fields_or_for_each() {
        let mut texts =
            Texts { table: "t".into(), fields: vec!["a".into(), "b".into()], reads_all: true, writes_all: false };
        assert_eq!(texts.reads(), ["SELECT * FROM t WHERE y_id = ? LIMIT 1"]);
        assert_eq!(texts.scans(), ["SELECT * FROM t WHERE token(y_id) >= token(?) LIMIT ?"]);
        assert_eq!(texts.updates(), ["UPDATE t SET a = ? WHERE y_id = ?", "UPDATE t SET b = ? WHERE y_id = ?"]);
        assert_eq!(texts.insert(), "INSERT INTO t (y_id, a, b) VALUES (?, ?, ?)");
        (texts.reads_all, texts.writes_all) = (false, true);
        assert_eq!(texts.reads()[1], "SELECT b FROM t WHERE y_id = ? LIMIT 1");
        assert_eq!(texts.updates(), ["UPDATE t SET a = ?, b = ? WHERE y_id = ?"]);
    }
}
