//! `/metrics`: what the shards have counted, in Prometheus' text format.
//!
//! Shards are asked side by side, and each says what it has counted in one copy. `docs/guide/metrics.md` lists the names; a test holds
//! the two against each other.

mod families;
mod text;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;
use crate::routes::figures;
use crate::state::App;

/// The most tables that are told one by one, those with most on disk first: a metric per table and node must stay affordable.
const TABLES_MAX: usize = 100;

pub(crate) async fn scrape(State(app): State<App>) -> Result<Response, Problem> {
    let node = app.node().await?;
    let shards = figures(&app).await?;
    let mut tables = app.tables(Vec::new(), true).await?;
    tables.sort_by_key(|table| std::cmp::Reverse(table.disk_bytes + table.memtable_bytes));
    let left_out = tables.len().saturating_sub(TABLES_MAX);
    tables.truncate(TABLES_MAX);
    let text = families::write(&node, app.version(), &shards, &tables, left_out);
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
