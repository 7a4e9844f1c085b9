//! The console's CQL box: one statement per request, run as a client's.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::routing::post;
use login::{LoggedIn, Ticket};

use crate::access::{Peer, Role};
use crate::ask::{Answer, Question};
use crate::cql::{self, Asked};
use crate::json::{Json, Reply};
use crate::need::CQL_PATH;
use crate::problem::Problem;
use crate::state::App;

/// A statement in JSON may be longer than the statement.
pub(crate) const BODY_BYTES_MAX: usize = 128 << 10;
/// How long a body may take to arrive.
const BODY_TIME_MAX: Duration = Duration::from_secs(10);

pub(super) fn routes() -> Router<App> {
    Router::new().route(CQL_PATH, post(run))
}

async fn run(State(app): State<App>, request: Request) -> Reply {
    if !is_json(request.headers()) {
        return Err(Problem::wrong_type("a statement is sent as Content-Type: application/json"));
    }
    let _place = app
        .statements()
        .try_acquire()
        .map_err(|_| Problem::unavailable("too many console statements in flight; retry later"))?;
    let role = request.extensions().get::<Role>().cloned();
    let from = request.extensions().get::<Peer>().map_or((Ipv4Addr::UNSPECIFIED, 0).into(), |peer| peer.0);
    let body = tokio::time::timeout(BODY_TIME_MAX, to_bytes(request.into_body(), BODY_BYTES_MAX)).await;
    let body = body.map_err(|_| Problem::bad_request("cannot read the request body"))?;
    let body = body.map_err(|_| Problem::too_large(format!("the request body exceeds {BODY_BYTES_MAX} bytes")))?;
    let asked = Asked::read(&body).map_err(Problem::bad_request)?;
    let native = connect(&app, from).await?;
    let Some(Role(login)) = role.filter(|_| !asked.has_login()) else {
        return Ok(Json(cql::run(native, &asked).await));
    };
    let ticket = draw(&app, login).await?;
    let asked = asked.with_ticket(&ticket);
    app.tell_all(Question::AdmitTicket(ticket.clone())).await?;
    let answer = cql::run(native, &asked).await;
    // It was used on one shard, and is of no use on the others from here on.
    app.tell_all(Question::EndTicket(ticket)).await?;
    Ok(Json(answer))
}

/// A ticket by which the statement runs as the role that asks.
async fn draw(app: &App, login: LoggedIn) -> Result<Ticket, Problem> {
    match app.ask(0, Question::DrawTicket(login)).await? {
        Answer::Drawn(ticket) => Ok(ticket),
        _ => Err(Problem::mixed_up()),
    }
}

/// A connection for one statement of an asker at `from`.
async fn connect(app: &App, from: SocketAddr) -> Result<UnixStream, Problem> {
    match app.ask(0, Question::Connect { from }).await? {
        Answer::Connected(native) => Ok(native),
        _ => Err(Problem::mixed_up()),
    }
}

/// A type that no form of another site can send, and no script of it without being asked first.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn forms_cannot_send_statements() {
        let of = |kind: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
            is_json(&headers)
        };
        assert!(of("application/json") && of("Application/JSON; charset=utf-8"));
        for form in
            ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "text/json"]
        {
            assert!(!of(form), "{form}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
