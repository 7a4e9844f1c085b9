//! The paths. What each of them answers is in `docs/internals/admin.md`.

mod audit;
mod cache;
mod compaction;
mod console;
mod cql;
mod departures;
mod gossip;
mod health;
mod hints;
mod life;
mod login;
mod node;
mod operations;
mod repair;
mod requests;
mod roles;
mod sampling;
mod snapshots;
mod tables;
mod timeouts;
mod upgrade;

use axum::Router;
use axum::http::{Method, Uri};

use crate::problem::Problem;
use crate::state::App;

pub(crate) use cql::{BODY_BYTES_MAX as CQL_BODY_BYTES_MAX, is_json};
pub(crate) use node::figures;
pub(crate) use requests::{by_kind, errors, failed};
pub(crate) use roles::BODY_BYTES_MAX as ROLES_BODY_BYTES_MAX;

/// The REST port's.
pub(crate) async fn api(app: &App) -> Router {
    let rest = rest();
    let offers = console::offers(finished(rest.clone(), app)).await;
    finished(rest.merge(cql::routes()).merge(login::routes()).merge(console::routes(offers)), app)
}

/// All that the console is not alone in asking for.
fn rest() -> Router<App> {
    health::routes()
        .merge(node::routes())
        .merge(life::routes())
        .merge(upgrade::routes())
        .merge(gossip::routes())
        .merge(departures::routes())
        .merge(operations::routes())
        .merge(repair::routes())
        .merge(hints::routes())
        .merge(timeouts::routes())
        .merge(audit::routes())
        .merge(roles::routes())
        .merge(cache::routes())
        .merge(compaction::routes())
        .merge(snapshots::routes())
        .merge(tables::routes())
        .merge(requests::routes())
        .merge(sampling::routes())
        .merge(metrics_path())
}

/// The metrics port's.
pub(crate) fn metrics(app: &App) -> Router {
    finished(health::routes().merge(metrics_path()), app)
}

fn metrics_path() -> Router<App> {
    Router::new().route("/metrics", axum::routing::get(crate::metrics::scrape))
}

fn finished(router: Router<App>, app: &App) -> Router {
    router.fallback(no_path).method_not_allowed_fallback(no_method).with_state(app.clone())
}

async fn no_path(uri: Uri) -> Problem {
    Problem::not_found(format!("unknown path '{}'", uri.path()))
}

async fn no_method(method: Method, uri: Uri) -> Problem {
    Problem::no_method(format!("'{}' does not support {method}", uri.path()))
}
