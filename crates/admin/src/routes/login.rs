//! A browser's login and logout: a name and a password for a cookie.

use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

use super::is_json;
use crate::access;
use crate::guard::PortKind;
use crate::json::Json;
use crate::need::{LOGIN_PATH, LOGOUT_PATH};
use crate::problem::Problem;
use crate::sessions::Cookie;
use crate::state::App;

const BODY_BYTES_MAX: usize = 4 << 10;
const BODY_TIME_MAX: Duration = Duration::from_secs(10);

pub(super) fn routes() -> Router<App> {
    Router::new().route(LOGIN_PATH, post(log_in)).route(LOGOUT_PATH, post(log_out))
}

async fn log_in(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    if !app.asks_login() {
        return Err(Problem::bad_request("this node asks for no login"));
    }
    if !is_json(request.headers()) {
        return Err(Problem::wrong_type("a login is sent as Content-Type: application/json"));
    }
    let port = port(&request)?;
    let (head, body) = request.into_parts();
    let body = tokio::time::timeout(BODY_TIME_MAX, to_bytes(body, BODY_BYTES_MAX)).await;
    let body = body.ok().and_then(Result::ok).ok_or_else(|| Problem::bad_request("cannot read the request body"))?;
    let (user, password) = read(&body)
        .ok_or_else(|| Problem::bad_request("a login is a JSON object with the strings user and password"))?;
    let (secret, proof) = access::log_in(&app, &head, user.clone(), password).await?;
    let cookie = Cookie::new(secret);
    app.sessions().add(cookie, user.clone(), proof);
    Ok(([(header::SET_COOKIE, cookie.set(port))], Json(json!({"role": user}))).into_response())
}

async fn log_out(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let port = port(&request)?;
    if let Some(cookie) = Cookie::read(request.headers(), port) {
        app.sessions().end(&cookie);
    }
    Ok([(header::SET_COOKIE, Cookie::unset(port))].into_response())
}

/// The port of a request, which its door has noted.
fn port(request: &Request) -> Result<PortKind, Problem> {
    request.extensions().get::<PortKind>().copied().ok_or_else(Problem::mixed_up)
}

fn read(body: &[u8]) -> Option<(String, String)> {
    let Value::Object(mut fields) = serde_json::from_slice(body).ok()? else { return None };
    let mut text = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let pair = (text("user")?, text("password")?);
    fields.is_empty().then_some(pair)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_login_is_two_strings() {
        let pair = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(read(br#"{"user": "ada", "password": "x"}"#), pair("ada", "x"));
        for wrong in [
            &b""[..],
            b"[]",
            br#"{"user": "ada"}"#,
            br#"{"user": 1, "password": "x"}"#,
            br#"{"user": "a", "password": "x", "more": 1}"#,
        ] {
            assert_eq!(read(wrong), None);
        }
    }
}
