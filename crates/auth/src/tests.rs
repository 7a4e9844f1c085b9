//! The scripts of clients that log in, against the pure functions: statements about roles get the answers that a real Cassandra gave.
//!
//! Answers to other statements are taken for true, as far as they say which objects there are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cql_syntax::{AccessStatement, Statement};
use schema::change::SchemaChange;
use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, Schema, Table, TableId, TableOptions};
use topology::ReplicationStrategy;

use crate::networks::{CidrMode, NetworkRules};
use crate::samples::superuser;
use crate::{
    Access, AccessContext, AccessError, AccessPlan, Actor, Listed, PasswordHash, PermissionRow, Resource, RoleRow,
    Schemas, Settings, Subject, created, dropped, list, made_with_keyspace, plan_access, set_hash,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracle-guarded");
const STRICT: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };
/// The rules of the server that gave the answers.
const NETWORKS: NetworkRules =
    NetworkRules { checks_datacenters: true, cidr_mode: CidrMode::Enforce, cidr_checks_superusers: false };
const KEYSPACE: &str = "ks";
const SUPERUSER: &str = "cassandra";

/// Answers that no pure function gives, and objects that the schema does not have yet: blocks with these words are not compared.
const NOT_OURS: [&str; 4] =
    ["error BadCredentials", "You do not have access to this datacenter", " FUNCTION ", "Key may not"];

/// Where Helenus answers otherwise on purpose: the script, and words of the statements.
const DEVIATIONS: [(&str, &str); 4] = [
    // CVE-2026-27314.
    ("identities.cql", "IDENTITY 'spiffe://bob'"),
    ("identities.cql", "IDENTITY 'spiffe://stolen'"),
    ("identities.cql", "IDENTITY 'spiffe://root'"),
    ("identities.cql", "DROP IDENTITY 'spiffe://a/b'"),
];

/// A statement of a script.
struct Block {
    /// The role that asks.
    role: String,
    text: String,
    answer: Vec<String>,
}

/// The state that a script has made.
struct World {
    access: Access,
    schema: Schema,
    /// Tables so far, each of which needs an id.
    tables: u8,
}

fn scripts() -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder of the repository");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
        paths.sort();
        paths
    };
    entries(Path::new(FOLDER)).iter().flat_map(|folder| entries(folder)).collect()
}

fn blocks(text: &str) -> Vec<Block> {
    let pieces = text.split("\n\n").skip(1).map(|piece| piece.trim_matches('\n'));
    let block = |piece: &str| {
        let directive = |name: &str| piece.lines().find_map(|line| line.strip_prefix(name));
        let role = directive("@as ").unwrap_or(SUPERUSER).to_owned();
        let is_text = |line: &&str| !line.starts_with(['@', '>', '<']) && !line.starts_with("--");
        let text = piece.lines().filter(is_text).collect::<Vec<_>>().join("\n").trim_end_matches(';').to_owned();
        let answer = piece.lines().filter_map(|line| line.strip_prefix("> ")).map(str::to_owned).collect();
        // PREPARE says other things, and BATCH messages have no access.
        let is_plain = !text.is_empty() && directive("@prepare").is_none() && directive("@batch").is_none();
        is_plain.then_some(Block { role, text, answer })
    };
    pieces.filter_map(block).collect()
}

impl World {
    fn new() -> World {
        let access = Access::default().with(&superuser(SUPERUSER)).with(&crate::AccessChange::BootstrapDone);
        let mut world = World { access, schema: Schema::empty(), tables: 0 };
        for keyspace in
            ["system", "system_auth", "system_traces", "system_distributed", "system_schema", "system_views"]
        {
            world.put_keyspace(keyspace);
        }
        for (keyspace, table) in [("system", "paxos"), ("system_auth", "roles"), ("system_views", "settings")] {
            world.put_table(keyspace, table);
        }
        world.follow(SUPERUSER, "created keyspace ks", false);
        world
    }

    fn put_keyspace(&mut self, name: &str) {
        let class = "org.apache.cassandra.locator.SimpleStrategy".to_owned();
        let keyspace = KeyspaceDef {
            name: name.to_owned(),
            replication: BTreeMap::from([
                ("class".to_owned(), class),
                ("replication_factor".to_owned(), "1".to_owned()),
            ]),
            strategy: ReplicationStrategy::Simple { replication_factor: 1 },
            durable_writes: true,
            tenure: 0,
        };
        self.schema = self.schema.with_all(&[SchemaChange::PutKeyspace(keyspace)]);
    }

    fn put_table(&mut self, keyspace: &str, name: &str) {
        self.tables += 1;
        let column = Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", cql_types::CqlType::Int);
        let table = Table::new(TableId([self.tables; 16]), keyspace, name, vec![column], TableOptions::default());
        self.schema = self.schema.with_all(&[SchemaChange::PutTable(Box::new(table))]);
    }

    /// Does what an answer to DDL says: the object, and the grants that follow it.
    fn follow(&mut self, role: &str, answer: &str, is_view: bool) {
        let words: Vec<&str> = answer.split(' ').collect();
        let table = words.get(2).and_then(|name| name.split_once('.'));
        match (&words[..], table) {
            (["created", "keyspace", name], _) => {
                self.put_keyspace(name);
                self.apply(|world, subject| created(&world.access, subject, &made_with_keyspace(name)), role);
            }
            (["created", "table", _], Some((keyspace, name))) => {
                self.put_table(keyspace, name);
                // Helenus grants a view to its maker; the recording has what Cassandra grants.
                if is_view {
                    return;
                }
                let resource = Resource::table(keyspace, name);
                self.apply(|world, subject| created(&world.access, subject, std::slice::from_ref(&resource)), role);
            }
            (["dropped", "keyspace", name], _) => {
                let gone = dropped(&self.access, &Resource::Keyspace((*name).to_owned()));
                self.access = self.access.with_all(&gone);
                self.schema = self.schema.with_all(&[SchemaChange::DropKeyspace((*name).to_owned())]);
            }
            (["dropped", "table", _], Some((keyspace, name))) => {
                self.access = self.access.with_all(&dropped(&self.access, &Resource::table(keyspace, name)));
                let id = self.schema.table(keyspace, name).expect("it was made").id;
                self.schema = self.schema.with_all(&[SchemaChange::DropTable {
                    keyspace: keyspace.to_owned(),
                    name: name.to_owned(),
                    id,
                }]);
            }
            _ => {}
        }
    }

    fn apply(&mut self, changes: impl Fn(&World, &Subject<'_>) -> Vec<crate::AccessChange>, role: &str) {
        let changes = changes(self, &Subject::new(&self.access, Actor::Role(role), STRICT));
        self.access = self.access.with_all(&changes);
    }

    /// The lines that a statement about roles is answered with; it takes effect.
    fn answer(&mut self, role: &str, mut statement: AccessStatement) -> Vec<String> {
        let schemas = Schemas { users: &self.schema, system: &self.schema };
        let datacenters = BTreeSet::from(["datacenter1".to_owned()]);
        let context = AccessContext { current_keyspace: Some(KEYSPACE), datacenters: &datacenters, settings: STRICT };
        let is_list = matches!(
            statement,
            AccessStatement::ListRoles { .. } | AccessStatement::ListUsers | AccessStatement::ListPermissions { .. }
        );
        if is_list {
            let subject = Subject::new(&self.access, Actor::Role(role), STRICT);
            return list(&subject, schemas, &statement, Some(KEYSPACE), NETWORKS)
                .map_or_else(refused, |listed| rows(&listed));
        }
        set_hash(&mut statement, &PasswordHash::dummy());
        match plan_access(&self.access, schemas, &statement, Actor::Role(role), &context) {
            Err(error) => refused(error),
            Ok(AccessPlan { changes, warnings }) => {
                self.access = self.access.with_all(&changes);
                let warnings = warnings.iter().map(|warning| format!("warning: {warning}"));
                warnings.chain(["done".to_owned()]).collect()
            }
        }
    }
}

fn refused(error: AccessError) -> Vec<String> {
    let kind = match &error {
        AccessError::Syntax(_) => "SyntaxError",
        AccessError::Invalid(_) => "Invalid",
        AccessError::Unauthorized(_) => "Unauthorized",
        AccessError::Configuration(_) => "ConfigError",
    };
    vec![format!("error {kind}: {error}").trim_end().to_owned()]
}

/// Rows as a script shows them, without its first line and its last one.
fn rows(listed: &Listed) -> Vec<String> {
    let role = |row: &RoleRow| {
        let RoleRow { role, is_superuser, may_log_in, datacenters, .. } = row;
        format!("'{role}' | {is_superuser} | {may_log_in} | {{}} | '{datacenters}'")
    };
    let user = |row: &RoleRow| format!("'{}' | {} | '{}'", row.role, row.is_superuser, row.datacenters);
    let permission = |row: &PermissionRow| {
        let PermissionRow { role, resource, permission, .. } = row;
        format!("'{role}' | '{role}' | '{resource}' | '{permission}'")
    };
    match listed {
        Listed::Roles(rows) => rows.iter().map(role).collect(),
        Listed::Users(rows) => rows.iter().map(user).collect(),
        Listed::Permissions(rows) => rows.iter().map(permission).collect(),
    }
}

/// The recorded lines that [`rows`] gives: no head, no count, no functions, and none where nothing is listed.
fn comparable(answer: &[String], is_list: bool) -> Vec<String> {
    let is_head = |line: &str| line.starts_with("role text") || line.starts_with("name text");
    let is_count = |line: &str| line.ends_with(" rows") || line == "1 row";
    let is_row = |line: &&String| !is_head(line) && !is_count(line) && !line.contains("'<function ");
    match is_list {
        true => answer.iter().filter(is_row).filter(|line| *line != "done").cloned().collect(),
        false => answer.to_vec(),
    }
}

#[test]
fn statements_about_roles_are_answered_as_by_a_real_cassandra() {
    let (mut differences, mut compared) = (Vec::new(), 0);
    for path in scripts() {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let mut world = World::new();
        for block in blocks(&std::fs::read_to_string(&path).expect("a script")) {
            let is_not_ours =
                |words: &&str| block.text.contains(*words) || block.answer.iter().any(|line| line.contains(*words));
            let statement = match cql_syntax::parse(&block.text) {
                Ok(Statement::Access(statement)) if !NOT_OURS.iter().any(is_not_ours) => statement,
                _ => {
                    let is_view = block.text.contains("MATERIALIZED VIEW");
                    block.answer.iter().for_each(|line| world.follow(&block.role, line, is_view));
                    continue;
                }
            };
            let is_list = block.text.starts_with("LIST");
            let (expected, given) = (comparable(&block.answer, is_list), world.answer(&block.role, statement));
            let deviates = DEVIATIONS.iter().any(|(script, words)| *script == name && block.text.contains(words));
            compared += 1;
            if expected != given && !deviates {
                let Block { role, text, .. } = &block;
                differences.push(format!("{name}, {role}: {text}\n    recorded {expected:#?}\n    given {given:#?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{} of {compared} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(compared > 300, "{compared} statements");
}
