//! Schema statements: the nodes' schemas after healing, and every answer that clients received, judged against the history.
//!
//! - Each refusal has a reason that a client can know, or promises nothing.
//! - All nodes show the same schema: its version, and each row of `system_schema`.
//! - What was acknowledged and not dropped is there; what was dropped and acknowledged is not; nothing is there that no statement made.
//! - No statement's effect is there twice.
//! - The history of each keyspace, with the looks at it after healing, is linearizable: each statement took effect at one moment between question
//!   and answer, or, without an answer, at one moment after its question or never.

use std::collections::BTreeMap;

use histories::linear::{self, Move};

use crate::workload::{
    KeyspaceNumber, KeyspaceState, SchemaAsked, SchemaHistory, SchemaStatement, SchemaTold, SchemaView, TableNumber,
    TableState, Tag,
};

/// Sentences about the same thing, at most so many.
const VIOLATIONS_MAX: usize = 10;

/// Judges the nodes' schemas, each with its node, and the history so far.
pub fn judge(history: &SchemaHistory, views: &[(usize, SchemaView)]) -> Vec<String> {
    let mut violations: Vec<String> = history.violations.iter().take(VIOLATIONS_MAX).cloned().collect();
    violations.extend(differences(views));
    for (node, view) in views {
        let mut of_node = view.odd.clone();
        of_node.extend(invented(history, view));
        of_node.extend(twice(view));
        of_node.extend(lost_or_back(history, view));
        violations.extend(of_node.into_iter().take(VIOLATIONS_MAX).map(|what| format!("node {node}: {what}")));
    }
    violations.extend(orders(history));
    violations
}

/// Judges whether the history of each keyspace has an order.
fn orders(history: &SchemaHistory) -> Vec<String> {
    let of_keyspace = |(keyspace, statements): (&KeyspaceNumber, &Vec<SchemaStatement>)| {
        linear::check(statements).err().map(|what| format!("keyspace g{keyspace}: {what}; of\n{}", listed(statements)))
    };
    history.statements.iter().filter_map(of_keyspace).collect()
}

/// The statements, one a line, with their times in milliseconds: an order that is not there is found by a person who sees all of them.
fn listed(statements: &[SchemaStatement]) -> String {
    let millis = |nanos: u64| nanos / 1_000_000;
    let line = |one: &SchemaStatement| {
        let end = one.end.map_or("never".to_owned(), |end| millis(end).to_string());
        format!("{} to {end}, node {}: {:?}: {:?}", millis(one.start), one.node, one.asked, one.told)
    };
    statements.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Notes in the history the keyspaces as a node shows them: looks, sent and answered at these times.
pub fn note_look(history: &mut SchemaHistory, node: usize, view: &SchemaView, start: u64, end: u64) {
    let known: Vec<KeyspaceNumber> = history.statements.keys().copied().collect();
    for keyspace in known {
        let state = view.keyspaces.get(&keyspace).cloned();
        let place = history.sent(keyspace, SchemaAsked::Look, node, start);
        history.answered(keyspace, place, SchemaTold::Have(state), end);
    }
}

/// Names what differs between the first node and the others.
pub fn differences(views: &[(usize, SchemaView)]) -> Vec<String> {
    let Some(((first, one), others)) = views.split_first() else { return Vec::new() };
    let mut all = Vec::new();
    for (node, other) in others {
        if one.version != other.version {
            all.push(format!("node {first} is at version {}, node {node} at {}", one.version, other.version));
        }
        for (has, lacks, of, not) in [(first, node, one, other), (node, first, other, one)] {
            let lacking = of.rows.iter().filter(|row| !not.rows.contains(row)).take(VIOLATIONS_MAX);
            all.extend(lacking.map(|row| format!("node {has} has, and node {lacks} has not: {row}")));
        }
        if one.rows.len() != other.rows.len() {
            let counts = (one.rows.len(), other.rows.len());
            all.push(format!("node {first} has {} rows of system_schema, node {node} {}", counts.0, counts.1));
        }
    }
    all
}

fn statements_with_tags(history: &SchemaHistory) -> BTreeMap<Tag, (KeyspaceNumber, &SchemaStatement)> {
    let all = history.statements.iter().flat_map(|(keyspace, of)| of.iter().map(move |one| (*keyspace, one)));
    all.filter_map(|(keyspace, one)| Some((tag_of(&one.asked)?, (keyspace, one)))).collect()
}

fn tag_of(asked: &SchemaAsked) -> Option<Tag> {
    match asked {
        SchemaAsked::CreateTable { tag, .. } | SchemaAsked::AddColumn { tag, .. } => Some(*tag),
        _ => None,
    }
}

/// Each tag of the view, with its place and whether it is a column.
fn tags(view: &SchemaView) -> impl Iterator<Item = (Tag, KeyspaceNumber, TableNumber, bool)> {
    let tables = view
        .keyspaces
        .iter()
        .flat_map(|(keyspace, state)| state.tables.iter().map(move |(number, table)| (*keyspace, *number, table)));
    tables.flat_map(|(keyspace, number, table)| {
        let columns = table.columns.iter().map(move |tag| (*tag, keyspace, number, true));
        std::iter::once((table.made_by, keyspace, number, false)).chain(columns)
    })
}

/// Names what is there that no statement made, or none that may have.
fn invented(history: &SchemaHistory, view: &SchemaView) -> Vec<String> {
    let statements = statements_with_tags(history);
    let mut all = Vec::new();
    for (tag, keyspace, table, is_column) in tags(view) {
        let is_it = |asked: &SchemaAsked| match asked {
            SchemaAsked::CreateTable { table: of, .. } => *of == table && !is_column,
            SchemaAsked::AddColumn { table: of, .. } => *of == table && is_column,
            _ => false,
        };
        let made = statements.get(&tag).filter(|(of, statement)| *of == keyspace && is_it(&statement.asked));
        match made.map(|(_, statement)| &statement.told) {
            None => all.push(format!("no statement put {tag} into g{keyspace}.t{table}")),
            Some(SchemaTold::Changed | SchemaTold::Nothing) => {}
            Some(told) => all.push(format!("{tag} is in g{keyspace}.t{table}, and its client was answered {told:?}")),
        }
    }
    let may_be_made = |keyspace: &KeyspaceNumber| {
        let statements = history.statements.get(keyspace).into_iter().flatten();
        statements.filter(|one| matches!(one.asked, SchemaAsked::CreateKeyspace { .. })).any(may_have_changed)
    };
    let nowhere = view.keyspaces.keys().filter(|keyspace| !may_be_made(keyspace));
    all.extend(nowhere.map(|keyspace| format!("no statement made keyspace g{keyspace}")));
    all
}

/// Names tags that stand in more than one place.
fn twice(view: &SchemaView) -> Vec<String> {
    let mut places: BTreeMap<Tag, Vec<String>> = BTreeMap::new();
    for (tag, keyspace, table, _) in tags(view) {
        places.entry(tag).or_default().push(format!("g{keyspace}.t{table}"));
    }
    let twice = places.into_iter().filter(|(_, places)| places.len() > 1);
    twice.map(|(tag, places)| format!("the effect of statement {tag} is there twice: {places:?}")).collect()
}

fn may_have_changed(statement: &SchemaStatement) -> bool {
    matches!(statement.told, SchemaTold::Changed | SchemaTold::Nothing)
}

/// Names what was acknowledged and is gone, and what was dropped and is back.
fn lost_or_back(history: &SchemaHistory, view: &SchemaView) -> Vec<String> {
    let mut all = Vec::new();
    for (keyspace, statements) in &history.statements {
        let state = view.keyspaces.get(keyspace);
        for one in statements.iter().filter(|one| one.told == SchemaTold::Changed) {
            let Some(end) = one.end else { continue };
            let drops = statements.iter().filter(|drop| drops(&drop.asked, &one.asked));
            let (mut may_be_dropped, mut must_be_dropped) = (false, false);
            for drop in drops {
                may_be_dropped |= may_have_changed(drop) && drop.end.is_none_or(|dropped| dropped > one.start);
                must_be_dropped |= drop.told == SchemaTold::Changed && drop.start > end;
            }
            let Some(is_there) = is_there(state, &one.asked) else { continue };
            if !is_there && !may_be_dropped {
                all.push(format!("g{keyspace}: {:?} was acknowledged and is gone", one.asked));
            }
            // Of a keyspace alone nothing says which statement made it.
            if is_there && must_be_dropped && tag_of(&one.asked).is_some() {
                all.push(format!("g{keyspace}: {:?} was dropped, which was acknowledged, and is back", one.asked));
            }
        }
    }
    all
}

/// True if the statement takes away what the other one made.
fn drops(drop: &SchemaAsked, made: &SchemaAsked) -> bool {
    let table = match made {
        SchemaAsked::CreateTable { table, .. } | SchemaAsked::AddColumn { table, .. } => Some(table),
        _ => None,
    };
    match drop {
        SchemaAsked::DropKeyspace { .. } => true,
        SchemaAsked::DropTable { table: dropped, .. } => table == Some(dropped),
        _ => false,
    }
}

/// True if the statement's effect is there; `None`: it has none that stays.
fn is_there(state: Option<&KeyspaceState>, asked: &SchemaAsked) -> Option<bool> {
    let table = |number: &TableNumber| state.and_then(|state| state.tables.get(number));
    match asked {
        SchemaAsked::CreateKeyspace { .. } => Some(state.is_some()),
        SchemaAsked::CreateTable { table: number, tag, .. } => {
            Some(table(number).is_some_and(|table| table.made_by == *tag))
        }
        SchemaAsked::AddColumn { table: number, tag } => {
            Some(table(number).is_some_and(|table| table.columns.contains(tag)))
        }
        _ => None,
    }
}

impl Move for SchemaStatement {
    type State = Option<KeyspaceState>;

    fn start(&self) -> u64 {
        self.start
    }

    fn end(&self) -> Option<u64> {
        self.end
    }

    fn is_read(&self) -> bool {
        self.asked == SchemaAsked::Look
    }

    fn asks_the_same(&self, other: &SchemaStatement) -> bool {
        self.asked == other.asked
    }

    fn after(&self, before: &Self::State) -> Option<Self::State> {
        if let SchemaTold::Have(seen) = &self.told {
            return (seen == before).then(|| before.clone());
        }
        if self.told == SchemaTold::NothingDone {
            return Some(before.clone());
        }
        let (told, after) = outcome(&self.asked, before);
        match self.told {
            SchemaTold::Nothing => Some(after.unwrap_or_else(|| before.clone())),
            _ if self.told == told => Some(after.unwrap_or_else(|| before.clone())),
            _ => None,
        }
    }
}

/// The answer of a schema that has this keyspace, and the keyspace afterwards if it changes.
fn outcome(asked: &SchemaAsked, before: &Option<KeyspaceState>) -> (SchemaTold, Option<Option<KeyspaceState>>) {
    match asked {
        SchemaAsked::Look => (SchemaTold::Have(before.clone()), None),
        SchemaAsked::CreateKeyspace { if_not_exists } => match before {
            Some(_) => (if *if_not_exists { SchemaTold::Unchanged } else { SchemaTold::Exists }, None),
            None => {
                let made = KeyspaceState { durable_writes: true, ..KeyspaceState::default() };
                (SchemaTold::Changed, Some(Some(made)))
            }
        },
        SchemaAsked::DropKeyspace { if_exists } => match before {
            Some(_) => (SchemaTold::Changed, Some(None)),
            None => (if *if_exists { SchemaTold::Unchanged } else { SchemaTold::Missing }, None),
        },
        SchemaAsked::AlterKeyspace { durable_writes } => match before {
            Some(state) if state.durable_writes == *durable_writes => (SchemaTold::Unchanged, None),
            Some(state) => {
                let altered = KeyspaceState { durable_writes: *durable_writes, ..state.clone() };
                (SchemaTold::Changed, Some(Some(altered)))
            }
            None => (SchemaTold::Missing, None),
        },
        SchemaAsked::CreateTable { table, tag, if_not_exists } => {
            let Some(mut state) = before.clone() else { return (SchemaTold::Missing, None) };
            if state.tables.contains_key(table) {
                return (if *if_not_exists { SchemaTold::Unchanged } else { SchemaTold::Exists }, None);
            }
            state.tables.insert(*table, TableState { made_by: *tag, columns: Default::default() });
            (SchemaTold::Changed, Some(Some(state)))
        }
        SchemaAsked::AddColumn { table, tag } => {
            let Some(mut state) = before.clone() else { return (SchemaTold::Missing, None) };
            let Some(of) = state.tables.get_mut(table) else { return (SchemaTold::Missing, None) };
            if !of.columns.insert(*tag) {
                return (SchemaTold::Exists, None);
            }
            (SchemaTold::Changed, Some(Some(state)))
        }
        SchemaAsked::DropTable { table, if_exists } => {
            let missing = (if *if_exists { SchemaTold::Unchanged } else { SchemaTold::Missing }, None);
            let Some(mut state) = before.clone() else { return missing };
            if state.tables.remove(table).is_none() {
                return missing;
            }
            (SchemaTold::Changed, Some(Some(state)))
        }
    }
}

#[cfg(test)]
mod tests;
