//! Access of operators, once an authenticator is set: each request is of a role, which logs in by Basic auth or has the cookie of an earlier login, and the role's permissions are
//! looked at for each request. States and paths: `docs/internals/admin.md`.
//!
//! The admin thread knows neither roles nor hashes: shard 0 says who a password belongs to, and whether a role may do what is asked.

mod basic;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use login::LoggedIn;

use crate::ask::{Answer, LoginAttempt, Question};
use crate::guard::PortKind;
use crate::need::Need;
use crate::problem::Problem;
use crate::sessions::Cookie;
use crate::state::App;

/// The address that a request came from, with its port, among its extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// The role of a request, as it has logged in, among its extensions.
#[derive(Debug, Clone)]
pub(crate) struct Role(pub(crate) LoggedIn);

/// A port's door.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) app: App,
    pub(crate) port: PortKind,
}

/// Passes on what may be asked.
pub(crate) async fn pass(State(door): State<Door>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    match door.admit(&head).await {
        Ok(role) => {
            head.extensions.insert(door.port);
            if let Some(role) = role {
                head.extensions.insert(role);
            }
            next.run(Request::from_parts(head, body)).await
        }
        Err(problem) => {
            let asks = problem.status == StatusCode::UNAUTHORIZED && !is_of_browser(&head.headers);
            let mut response = problem.into_response();
            if asks {
                // A browser would ask with a box of its own, where the console has a page.
                let basic = HeaderValue::from_static("Basic realm=\"helenus\", charset=\"UTF-8\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, basic);
            }
            response
        }
    }
}

impl Door {
    /// The role that asks; `None`: no role is needed.
    async fn admit(&self, head: &Parts) -> Result<Option<Role>, Problem> {
        let need = Need::of(&head.method, head.uri.path(), self.port.ip.is_loopback());
        if !self.app.asks_login() || need == Need::Nothing {
            return Ok(None);
        }
        let headers = &head.headers;
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let (name, password) = basic::read(value).ok_or_else(|| {
                Problem::unauthorized("the Authorization header is not a name and a password in Basic")
            })?;
            let (login, _) = log_in(&self.app, head, name, password).await?;
            self.app.ask(0, Question::Admit { login: login.clone(), need }).await?;
            return Ok(Some(Role(login)));
        }
        let found = Cookie::read(headers, self.port)
            .and_then(|cookie| self.app.sessions().login(&cookie).map(|login| (cookie, login)));
        let (cookie, login) = found.ok_or_else(|| Problem::unauthorized("this node requires a login"))?;
        // A cookie is sent by the browser, whichever page asks; what a page says of itself is not the page's to choose.
        if is_change(&head.method) && !is_of_own_page(headers) {
            return Err(Problem::forbidden("a change with a cookie is accepted from this node's own page alone"));
        }
        let admitted = self.app.ask(0, Question::Admit { login: login.clone(), need }).await;
        if admitted.as_ref().is_err_and(|problem| problem.status == StatusCode::UNAUTHORIZED) {
            // It ends for good: a role that may log in again later logs in again.
            self.app.sessions().end(&cookie);
        }
        admitted.map(|_| Some(Role(login)))
    }
}

/// Logs in by name and password. Gives random bytes too, for a cookie.
pub(crate) async fn log_in(
    app: &App,
    head: &Parts,
    name: String,
    password: String,
) -> Result<(LoggedIn, [u8; 16]), Problem> {
    let from = head.extensions.get::<Peer>().map(|peer| peer.0.ip());
    // Guesses take long. Those that wait for it wait here, so that shards are asked other things meanwhile.
    let _place = app.logins().place(from.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))).await;
    match app.ask(0, Question::LogIn(LoginAttempt { from, name, password })).await? {
        Answer::LoggedIn { login, secret } => Ok((login, secret)),
        _ => Err(Problem::mixed_up()),
    }
}

fn is_change(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// True if the request is that of a page of this origin. An `Origin` that is another one has been refused before.
fn is_of_own_page(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    headers.contains_key(header::ORIGIN) || site == Some(b"same-origin".as_slice())
}

fn is_of_browser(headers: &HeaderMap) -> bool {
    headers.contains_key("sec-fetch-site")
}

#[cfg(test)]
mod tests;
