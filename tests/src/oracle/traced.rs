//! The trace of a request in `system_traces`: by whom it was coordinated, and which nodes took steps.

use std::time::{Duration, Instant};

use cql_protocol::{Consistency, Query, QueryParams, Request, Response, ResultBody};
use cql_types::CqlType;

use crate::oracle::client::Client;
use crate::oracle::session::Names;
use crate::oracle::value;

/// Steps of other nodes arrive after the answer. A trace that is not as recorded by then stays as it is.
const PATIENCE: Duration = Duration::from_secs(4);
/// The rest between two looks at a trace.
const REST: Duration = Duration::from_millis(20);

/// The trace of the client's last request, once it is as `wanted`.
pub fn nodes(client: &mut Client, names: &Names, wanted: Option<&str>) -> Result<String, String> {
    let Some(id) = client.trace.take() else { return Ok("no trace".into()) };
    let id = value::show(&CqlType::Uuid, Some(&id));
    let deadline = Instant::now() + PATIENCE;
    loop {
        let session = column(client, &format!("SELECT request FROM system_traces.sessions WHERE session_id = {id}"))?;
        let coordinator = format!("SELECT coordinator FROM system_traces.sessions WHERE session_id = {id}");
        let coordinator = column(client, &coordinator)?;
        let mut sources = column(client, &format!("SELECT source FROM system_traces.events WHERE session_id = {id}"))?;
        sources.sort_unstable();
        sources.dedup();
        let (request, coordinator, sources) = (session.join(", "), coordinator.join(", "), sources.join(", "));
        let shown = names.shown(&format!("traced: {request} at {coordinator}, steps of {sources}"));
        if wanted == Some(&shown) || Instant::now() >= deadline {
            return Ok(shown);
        }
        std::thread::sleep(REST);
    }
}

/// The values of a statement's only column.
fn column(client: &mut Client, text: &str) -> Result<Vec<String>, String> {
    let reply = client.ask(&Request::Query(Query { text, params: QueryParams::new(Consistency::One) }))?;
    match reply.response()?.1 {
        Response::Result(ResultBody::Rows(rows)) => {
            let shown = rows.iter().map(|row| {
                let shown = rows.columns.iter().zip(row).map(|(column, given)| value::show(&column.ty, given));
                shown.collect::<Vec<_>>().join(", ")
            });
            Ok(shown.collect())
        }
        // The nodes that have it may not answer yet.
        Response::Error(_) => Ok(Vec::new()),
        other => Err(format!("{text}: {other:?}")),
    }
}
