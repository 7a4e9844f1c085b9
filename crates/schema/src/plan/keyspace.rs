//! CREATE, ALTER and DROP KEYSPACE.

use std::collections::BTreeMap;

use topology::strategy::{full_class, parse_factor};
use topology::{Factor, OptionsError, ReplicationStrategy, STRATEGY_PACKAGE};

use crate::change::SchemaChange;
use crate::error::SchemaError;
use crate::event::{ChangeTarget, ChangeType, SchemaEvent};
use crate::keyspace::KeyspaceDef;
use crate::options::scylla;
use crate::plan::{DdlContext, DdlPlan, names};
use crate::properties::Properties;
use crate::snapshot::Schema;
use crate::system_keyspaces;

pub(super) fn create(
    schema: &Schema,
    name: &str,
    if_not_exists: bool,
    mut properties: Properties,
    context: &DdlContext<'_>,
) -> Result<DdlPlan, SchemaError> {
    names::check_keyspace_name(name)?;
    names::check_not_system(name)?;
    let durable_writes = properties.boolean("durable_writes")?.unwrap_or(true);
    let replication = properties.map("replication")?;
    let mut warnings = scylla::read_of_keyspace(&mut properties)?;
    properties.finish()?;
    if schema.keyspace(name).is_some() || system_keyspaces::is_replicated(name) {
        return if if_not_exists { Ok(DdlPlan::default()) } else { Err(already_exists(name)) };
    }
    let Some(replication) = replication else {
        return Err(SchemaError::invalid("Missing mandatory option 'replication'"));
    };
    let (replication, strategy, factor) = read_replication(name, replication, None, context)?;
    warnings.extend(too_many_replicas(name, &factor, context));
    let def = KeyspaceDef { name: name.to_owned(), replication, strategy, durable_writes, tenure: 0 };
    Ok(plan(ChangeType::Created, name, SchemaChange::PutKeyspace(def), warnings))
}

pub(super) fn alter(
    schema: &Schema,
    name: &str,
    if_exists: bool,
    mut properties: Properties,
    context: &DdlContext<'_>,
) -> Result<DdlPlan, SchemaError> {
    names::check_modifiable(name, "ALTER", &format!("<keyspace {name}>"))?;
    let durable_writes = properties.boolean("durable_writes")?;
    let replication = properties.map("replication")?;
    let mut warnings = scylla::read_of_keyspace(&mut properties)?;
    properties.finish()?;
    let Some(keyspace) = schema.keyspace(name) else {
        return if if_exists { Ok(DdlPlan::default()) } else { Err(unknown(name)) };
    };
    let mut def = keyspace.def.clone();
    if let Some(value) = durable_writes {
        def.durable_writes = value;
    }
    if let Some(replication) = replication {
        // Of a strategy that this program does not have any more, nothing is known to increase.
        let before = context.strategies.rules(&def.strategy).map_or(u32::MAX, |rules| replicas_in_all(&rules.factor()));
        let factor;
        (def.replication, def.strategy, factor) = read_replication(name, replication, Some(&keyspace.def), context)?;
        warnings.extend(too_many_replicas(name, &factor, context));
        if replicas_in_all(&factor) > before {
            warnings.push(
                "When increasing replication factor you need to run a full (-full) repair to distribute the data."
                    .to_owned(),
            );
        }
    }
    // A node may gain ranges by it that it had before, and has lost.
    if def.strategy != keyspace.def.strategy {
        def.tenure += 1;
    }
    // What changes nothing is answered as nothing done.
    if def == keyspace.def {
        return Ok(DdlPlan { warnings, ..DdlPlan::default() });
    }
    Ok(plan(ChangeType::Updated, name, SchemaChange::PutKeyspace(def), warnings))
}

pub(super) fn drop(schema: &Schema, name: &str, if_exists: bool) -> Result<DdlPlan, SchemaError> {
    names::check_modifiable(name, "DROP", &format!("<keyspace {name}>"))?;
    if schema.keyspace(name).is_none() {
        return if if_exists { Ok(DdlPlan::default()) } else { Err(unknown(name)) };
    }
    Ok(plan(ChangeType::Dropped, name, SchemaChange::DropKeyspace(name.to_owned()), Vec::new()))
}

fn plan(change: ChangeType, name: &str, step: SchemaChange, warnings: Vec<String>) -> DdlPlan {
    let event = SchemaEvent { change, target: ChangeTarget::Keyspace, keyspace: name.to_owned(), name: String::new() };
    DdlPlan { changes: vec![step], warnings, event: Some(event) }
}

pub(super) fn unknown(name: &str) -> SchemaError {
    SchemaError::invalid(format!("Keyspace '{name}' doesn't exist"))
}

fn already_exists(name: &str) -> SchemaError {
    SchemaError::AlreadyExists {
        keyspace: name.to_owned(),
        table: String::new(),
        message: format!("Cannot add existing keyspace \"{name}\""),
    }
}

/// The replication option as it is kept, what it means, and how many replicas it asks for. `previous` is what an altered keyspace has: a factor that
/// the statement leaves out is taken over from it.
fn read_replication(
    keyspace: &str,
    given: BTreeMap<String, String>,
    previous: Option<&KeyspaceDef>,
    context: &DdlContext<'_>,
) -> Result<(BTreeMap<String, String>, ReplicationStrategy, Factor), SchemaError> {
    let Some(class) = given.get("class") else {
        return Err(SchemaError::configuration("Missing replication strategy class"));
    };
    let full = full_class(class).into_owned();
    let name = full.strip_prefix(STRATEGY_PACKAGE).unwrap_or(&full);
    let mut kept = given.clone();
    kept.insert("class".to_owned(), full.clone());
    match name {
        "SimpleStrategy" => simple(keyspace, &mut kept, previous)?,
        "NetworkTopologyStrategy" => network_topology(keyspace, &mut kept, previous, context)?,
        "EverywhereStrategy" => {
            if let Some(option) = kept.keys().find(|key| *key != "class") {
                return Err(unrecognized(option, name, keyspace));
            }
        }
        "LocalStrategy" => {
            return Err(SchemaError::invalid(
                "Unable to use given strategy class: LocalStrategy is reserved for internal use.",
            ));
        }
        // A registered strategy looks at its options itself.
        _ => {}
    }
    let strategy = ReplicationStrategy::parse_stored(&kept).map_err(SchemaError::configuration)?;
    let simple_name = name.rsplit('.').next().unwrap_or(name);
    let rules = context.strategies.rules(&strategy).map_err(|error| match error {
        OptionsError::Unrecognized { option } => unrecognized(&option, simple_name, keyspace),
        OptionsError::Invalid { problem } => SchemaError::configuration(problem),
    })?;
    let factor = rules.factor();
    Ok((kept, strategy, factor))
}

/// SimpleStrategy's options: one replication factor, by default 1.
fn simple(
    keyspace: &str,
    options: &mut BTreeMap<String, String>,
    previous: Option<&KeyspaceDef>,
) -> Result<(), SchemaError> {
    if let Some(option) = options.keys().find(|key| !matches!(key.as_str(), "class" | "replication_factor")) {
        return Err(unrecognized(option, "SimpleStrategy", keyspace));
    }
    let inherited = previous.and_then(|def| def.replication.get("replication_factor")).cloned();
    let factor = options.get("replication_factor").cloned().or(inherited).unwrap_or_else(|| "1".to_owned());
    let factor = read_factor(&factor)?;
    options.insert("replication_factor".to_owned(), factor.to_string());
    Ok(())
}

/// NetworkTopologyStrategy's options: factors of datacenters that the cluster has; `replication_factor` stands for all
/// that are not named.
fn network_topology(
    keyspace: &str,
    options: &mut BTreeMap<String, String>,
    previous: Option<&KeyspaceDef>,
    context: &DdlContext<'_>,
) -> Result<(), SchemaError> {
    let mut for_all = options.remove("replication_factor");
    let names_any = options.len() > 1;
    match previous.map(|def| (&def.strategy, &def.replication)) {
        // What the keyspace has stays, where the statement speaks of all datacenters.
        Some((ReplicationStrategy::NetworkTopology { .. }, had)) if !names_any || for_all.is_some() => {
            for (name, factor) in had.iter().filter(|(name, _)| *name != "class") {
                options.entry(name.clone()).or_insert_with(|| factor.clone());
            }
        }
        // A change of strategy keeps the count, unless the statement gives one.
        Some((ReplicationStrategy::Simple { replication_factor }, _)) if !names_any && for_all.is_none() => {
            for_all = Some(replication_factor.to_string());
        }
        _ => {}
    }
    // Without any factor each datacenter gets the default of one.
    if for_all.is_none() && options.len() == 1 {
        for_all = Some("1".to_owned());
    }
    if let Some(factor) = for_all {
        for name in context.datacenters.keys() {
            options.entry(name.clone()).or_insert_with(|| factor.clone());
        }
    }
    let mut replicas = 0u32;
    let mut kept = BTreeMap::new();
    for (name, factor) in options.iter() {
        if name == "class" {
            kept.insert(name.clone(), factor.clone());
            continue;
        }
        if !context.datacenters.contains_key(name) {
            return Err(unrecognized(name, "NetworkTopologyStrategy", keyspace));
        }
        let factor = read_factor(factor)?;
        replicas = replicas.saturating_add(factor);
        // A datacenter without replicas is not listed.
        if factor > 0 {
            kept.insert(name.clone(), factor.to_string());
        }
    }
    if replicas == 0 {
        return Err(SchemaError::configuration("Configuration for at least one datacenter must be present"));
    }
    *options = kept;
    Ok(())
}

fn read_factor(text: &str) -> Result<u32, SchemaError> {
    parse_factor(text).map_err(|error| SchemaError::configuration(error.to_string()))
}

fn unrecognized(option: &str, strategy: &str, keyspace: &str) -> SchemaError {
    SchemaError::configuration(format!(
        "Unrecognized strategy option {{{option}}} passed to {strategy} for keyspace {keyspace}"
    ))
}

/// Warns of replicas that no node is there for: of all nodes, or of a datacenter's.
fn too_many_replicas(keyspace: &str, factor: &Factor, context: &DdlContext<'_>) -> Vec<String> {
    let too_many = |factor: u32, nodes: usize| nodes > 0 && usize::try_from(factor).is_ok_and(|factor| factor > nodes);
    let sentence = |factor: u32, nodes: usize| {
        format!("Your replication factor {factor} for keyspace {keyspace} is higher than the number of nodes {nodes}")
    };
    match factor {
        Factor::Total(factor) => {
            let nodes = context.datacenters.values().sum();
            too_many(*factor, nodes).then(|| sentence(*factor, nodes)).into_iter().collect()
        }
        Factor::PerDatacenter(factors) => {
            let of_nodes = factors.iter().map(|(name, factor)| {
                let nodes = context.datacenters.get(name).copied().unwrap_or(0);
                (name, *factor, nodes)
            });
            let lacking = of_nodes.filter(|(_, factor, nodes)| too_many(*factor, *nodes));
            lacking.map(|(name, factor, nodes)| sentence(factor, nodes) + " for datacenter " + name).collect()
        }
        Factor::AllNodes | Factor::OwnNode => Vec::new(),
    }
}

fn replicas_in_all(factor: &Factor) -> u32 {
    match factor {
        Factor::AllNodes | Factor::OwnNode => 1,
        chosen => chosen.chosen().into_iter().fold(0, u32::saturating_add),
    }
}
