//! A block as requests, and what they are answered.

use cql_protocol::{
    Batch, BatchBuilder, BatchKind, BatchQuery, Consistency, Execute, Prepare, Prepared, Query, QueryParams, Request,
    Response, ResultBody, ValuesBuffer, Version,
};

use crate::oracle::client::{Client, Reply};
use crate::oracle::script::{Block, Given, Statement};
use crate::oracle::session::{Names, SUPERUSER, Session};
use crate::oracle::show::{self, Mask};
use crate::oracle::{traced, value};

/// More pages than any script needs: a server that always has another one does not hold the run.
const PAGES_MAX: usize = 1000;

/// How a block's requests are to be sent.
struct Settings<'a> {
    params: QueryParams<'a>,
    version: Option<Version>,
    keyspace: Option<&'a str>,
    batch: Option<BatchKind>,
    prepare_only: bool,
    is_traced: bool,
    mask: Mask<'a>,
    /// The role that asks.
    role: Option<&'a str>,
    /// A role that logs in, and its password.
    login: Option<(&'a str, &'a str)>,
    /// The statement waits until the keyspace's indexes are built.
    waits_for_indexes: bool,
}

/// Runs a block; the lines of its answer.
pub fn run(session: &mut Session, block: &Block) -> Result<Vec<String>, String> {
    let settings = Settings::of(block)?;
    let names = session.names.clone();
    if settings.waits_for_indexes {
        session.wait_for_indexes()?;
    }
    if let Some((role, password)) = settings.login {
        let outcome = session.log_in(settings.version.unwrap_or(Version::V5), role, password)?;
        return Ok(outcome.err().unwrap_or_else(|| vec!["logged in".into()]));
    }
    let client = match session.client_of(settings.version, settings.role.unwrap_or(SUPERUSER))? {
        Ok(client) => client,
        Err(refusal) => return Ok(refusal),
    };
    client.is_traced = settings.is_traced;
    let answered = answer(client, block, &settings, &names);
    client.is_traced = false;
    let mut lines: Vec<String> = answered?.iter().map(|line| names.shown(line)).collect();
    if settings.is_traced {
        let wanted = block.answer.last().map(String::as_str);
        lines.push(traced::nodes(client, &names, wanted)?);
    }
    Ok(lines)
}

fn answer(client: &mut Client, block: &Block, settings: &Settings<'_>, names: &Names) -> Result<Vec<String>, String> {
    let mut statements = block.statements();
    statements.iter_mut().for_each(|statement| statement.text = names.sent(&statement.text));
    if let Some(kind) = settings.batch {
        return run_batch(client, kind, settings, &statements);
    }
    let [statement] = &statements[..] else { return Err("more than one statement outside of a batch".into()) };
    match statement.given {
        _ if settings.prepare_only => match prepare(client, &statement.text, settings)? {
            Ok(prepared) => Ok(show::prepared(&prepared, show::Columns::Shown)),
            Err(refused) => Ok(refused),
        },
        None => pages(settings, |params| query(client, &statement.text, params)),
        Some(Given::Typed(values)) => {
            let values = value::typed(values)?;
            let settings = settings.with_values(&values);
            pages(&settings, |params| query(client, &statement.text, params))
        }
        Some(Given::Bound(values)) => run_prepared(client, &statement.text, values, settings),
    }
}

impl<'a> Settings<'a> {
    fn of(block: &'a Block) -> Result<Settings<'a>, String> {
        let mut settings = Settings {
            params: QueryParams::new(Consistency::One),
            version: None,
            keyspace: None,
            batch: None,
            prepare_only: false,
            is_traced: false,
            mask: Mask::default(),
            role: None,
            login: None,
            waits_for_indexes: false,
        };
        for (name, value) in block.directives() {
            let level = || Consistency::of_name(value).ok_or_else(|| format!("{value} is no consistency level"));
            match name {
                "page" => settings.params.page_size = Some(number(value)?),
                "timestamp" => settings.params.timestamp = Some(number(value)?),
                "now" => settings.params.now_in_seconds = Some(number(value)?),
                "consistency" => settings.params.consistency = level()?,
                "serial" => settings.params.serial_consistency = Some(level()?),
                "keyspace" => settings.keyspace = Some(value),
                "version" => settings.version = Some(version(value)?),
                "batch" => settings.batch = Some(batch_kind(value)?),
                "prepare" => settings.prepare_only = true,
                "trace" => settings.is_traced = true,
                "mask" => settings.mask = Mask::of(value),
                "as" => settings.role = Some(value),
                "login" => settings.login = Some(value.split_once(' ').ok_or("`@login` has a name and a password")?),
                "built" => settings.waits_for_indexes = true,
                // Those of rings are done before.
                "bind" | "values" | "pending" | "deviation" | "down" | "at" | "paused" => {}
                other => return Err(format!("there is no directive {other}")),
            }
        }
        settings.params.keyspace = settings.keyspace;
        Ok(settings)
    }

    fn with_values(&self, values: &'a ValuesBuffer) -> Settings<'a> {
        let params = QueryParams { values: values.values(), ..self.params };
        Settings { params, mask: self.mask.clone(), ..*self }
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number that fits"))
}

fn version(text: &str) -> Result<Version, String> {
    Version::ALL
        .into_iter()
        .find(|version| (*version as u8).to_string() == text)
        .ok_or_else(|| format!("there is no version {text}"))
}

fn batch_kind(text: &str) -> Result<BatchKind, String> {
    match text {
        "logged" => Ok(BatchKind::Logged),
        "unlogged" => Ok(BatchKind::Unlogged),
        "counter" => Ok(BatchKind::Counter),
        _ => Err(format!("there is no {text} batch")),
    }
}

fn query(client: &mut Client, text: &str, params: QueryParams<'_>) -> Result<Reply, String> {
    client.ask(&Request::Query(Query { text, params }))
}

/// Prepares a statement; the lines of the refusal if it is refused.
fn prepare(client: &mut Client, text: &str, settings: &Settings<'_>) -> Result<Result<Prepared, Vec<String>>, String> {
    let reply = client.ask(&Request::Prepare(Prepare { text, keyspace: settings.keyspace }))?;
    match reply.response()?.1 {
        Response::Result(ResultBody::Prepared(prepared)) => Ok(Ok(prepared)),
        _ => show::reply(&reply, &settings.mask).map(Err),
    }
}

fn run_prepared(client: &mut Client, text: &str, values: &str, settings: &Settings<'_>) -> Result<Vec<String>, String> {
    let prepared = match prepare(client, text, settings)? {
        Ok(prepared) => prepared,
        Err(refused) => return Ok(refused),
    };
    let values = value::bound(values, &prepared.markers)?;
    let settings = settings.with_values(&values);
    let mut lines = show::prepared(&prepared, show::Columns::LeftOut);
    let (id, result_metadata_id) = (&prepared.id[..], prepared.result_metadata_id.as_deref());
    let answer = pages(&settings, |params| client.ask(&Request::Execute(Execute { id, result_metadata_id, params })))?;
    lines.extend(answer);
    Ok(lines)
}

/// Sends a request until there is no further page.
fn pages(
    settings: &Settings<'_>,
    mut send: impl FnMut(QueryParams<'_>) -> Result<Reply, String>,
) -> Result<Vec<String>, String> {
    let (mut lines, mut state): (Vec<String>, Option<Vec<u8>>) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let reply = send(QueryParams { paging_state: state.as_deref(), ..settings.params })?;
        lines.extend(show::reply(&reply, &settings.mask)?);
        state = match reply.response()?.1 {
            Response::Result(ResultBody::Rows(rows)) => rows.paging_state.map(<[u8]>::to_vec),
            _ => None,
        };
        if state.is_none() {
            return Ok(lines);
        }
        lines.push("next page:".into());
    }
    Err(format!("there are more than {PAGES_MAX} pages"))
}

/// A BATCH message: what is bound is prepared first, the rest goes as text.
fn run_batch(
    client: &mut Client,
    kind: BatchKind,
    settings: &Settings<'_>,
    statements: &[Statement<'_>],
) -> Result<Vec<String>, String> {
    let mut ids = Vec::new();
    let mut values = Vec::new();
    for statement in statements {
        let (id, given) = match statement.given {
            None => (None, ValuesBuffer::new()),
            Some(Given::Typed(text)) => (None, value::typed(text)?),
            Some(Given::Bound(text)) => match prepare(client, &statement.text, settings)? {
                Ok(prepared) => (Some(prepared.id), value::bound(text, &prepared.markers)?),
                Err(refused) => return Ok(refused),
            },
        };
        ids.push(id);
        values.push(given);
    }
    let mut builder = BatchBuilder::new();
    for ((statement, id), given) in statements.iter().zip(&ids).zip(&values) {
        let query = match id {
            Some(id) => BatchQuery::Prepared(id),
            None => BatchQuery::Text(&statement.text),
        };
        builder.push(query, given.values()).map_err(|error| error.to_string())?;
    }
    let batch: Batch<'_> = builder.batch(kind, settings.params);
    show::reply(&client.ask(&Request::Batch(batch))?, &settings.mask)
}
