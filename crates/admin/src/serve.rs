//! The admin thread: tokio on one thread, two ports, one router.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use runtime::Companion;
use tls::OutsideIdentity;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::access::{self, Door, Peer};
use crate::ask::Questions;
use crate::guard::{self, PortKind};
use crate::listen::Bound;
use crate::logging::LogLevel;
use crate::need::{CQL_PATH, ROLES_PATH};
use crate::problem::Problem;
use crate::routes;
use crate::secure;
use crate::shares;
use crate::state::App;

/// Connections at a time, on both ports together. A host has half of them.
const CONNECTIONS_MAX: usize = 64;
/// How long a connection may take to send a request's head, or be idle.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
const HEAD_BYTES_MAX: usize = 16 << 10;
/// No path but one needs a body.
const BODY_BYTES_MAX: u64 = 4 << 10;
/// After an accept that failed: there are too many open files.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// For answers that are being written when the shards have ended: that of a decommission is the last of its node.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// What the admin thread is made of.
pub struct Parts {
    /// The ports.
    pub bound: Bound,
    /// Certificates of both; `None`: they are plain.
    pub tls: Option<OutsideIdentity>,
    /// The way to the shards.
    pub questions: Questions,
    /// Each request is to be a role's, which has the permission for it.
    pub asks_login: bool,
    /// The level of the log.
    pub log_level: LogLevel,
    /// The server's own version.
    pub version: &'static str,
}

/// The admin thread, for [`runtime::run_beside`]; `None` where no port is bound. It ends when all shards have.
pub fn companion(parts: Parts) -> Option<Companion> {
    if parts.bound.api.is_none() && parts.bound.metrics.is_none() {
        return None;
    }
    Some(Companion { name: "admin", is_background: false, body: Box::new(move || run(parts)) })
}

fn run(parts: Parts) {
    let built = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let result = built.and_then(|tokio| tokio.block_on(serve(parts)));
    if let Err(error) = result {
        tracing::error!(%error, "admin API stopped");
    }
}

async fn serve(parts: Parts) -> io::Result<()> {
    let Parts { bound, tls, asks_login, questions, log_level, version } = parts;
    let app = App::new(questions.clone(), log_level, version, asks_login);
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let of_hosts = shares::Connections::new(CONNECTIONS_MAX);
    let ports = [(bound.api, routes::api(&app).await), (bound.metrics, routes::metrics(&app))];
    let (ending, end) = watch::channel(());
    let mut accepting = Vec::new();
    for (bound, router) in ports {
        let Some((listener, address)) = bound else { continue };
        let listener = TcpListener::from_std(listener)?;
        let port = PortKind { ip: address.ip(), number: address.port(), is_tls: tls.is_some() };
        let connections = Connections { router: guarded(router, &app, port), tls: tls.clone(), end: end.clone() };
        accepting.push(tokio::spawn(accept(listener, connections, places.clone(), of_hosts.clone())));
    }
    questions.ended().await;
    // Requests under way are refused by now, since no shard answers. What is not written in time is dropped with the runtime.
    accepting.iter().for_each(tokio::task::JoinHandle::abort);
    drop(ending);
    let all = u32::try_from(CONNECTIONS_MAX).expect("a small number");
    _ = tokio::time::timeout(LAST_ANSWERS, places.acquire_many(all)).await;
    Ok(())
}

/// The router with its guards: who may be meant by a request, and then who asks.
fn guarded(router: Router, app: &App, port: PortKind) -> Router {
    let door = Door { app: app.clone(), port };
    router.layer(from_fn_with_state(door, access::pass)).layer(from_fn_with_state(port, pass))
}

async fn pass(State(port): State<PortKind>, request: Request, next: Next) -> Response {
    let mut response = match refusal(port, &request) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn refusal(port: PortKind, request: &Request) -> Option<Problem> {
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let most = match request.uri().path() {
        CQL_PATH => routes::CQL_BODY_BYTES_MAX as u64,
        ROLES_PATH => routes::ROLES_BODY_BYTES_MAX as u64,
        _ => BODY_BYTES_MAX,
    };
    if length.is_some_and(|length| length > most) {
        return Some(Problem::too_large(format!("the request body exceeds {most} bytes")));
    }
    guard::check(port, request.method(), request.uri(), request.headers()).err()
}

/// The place of a connection, until it is dropped.
struct Place {
    _of_all: OwnedSemaphorePermit,
    _of_host: shares::Share,
}

/// Common parts of a port's connections.
#[derive(Clone)]
struct Connections {
    router: Router,
    tls: Option<OutsideIdentity>,
    end: watch::Receiver<()>,
}

async fn accept(
    listener: TcpListener,
    connections: Connections,
    places: Arc<Semaphore>,
    of_hosts: Arc<shares::Connections>,
) {
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, from)) => match of_hosts.take(from.ip()) {
                Some(share) => {
                    let place = Place { _of_all: place, _of_host: share };
                    drop(tokio::spawn(connections.clone().serve(stream, Peer(from), place)));
                }
                // Closed without a word, since nothing is known of what it speaks.
                None => tracing::debug!(from = %from.ip(), "rejected admin connection: too many from this host"),
            },
            Err(error) => {
                tracing::warn!(%error, "cannot accept admin connection; retrying");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    }
}

impl Connections {
    /// Serves a connection to its end, in its place.
    async fn serve(self, stream: TcpStream, peer: Peer, place: Place) {
        let Some(identity) = &self.tls else { return self.speak(stream, peer, place).await };
        match tokio::time::timeout(HEAD_TIME_MAX, secure::shake(stream, identity)).await {
            Ok(Ok(stream)) => self.speak(stream, peer, place).await,
            // A client that breaks off, or does not like the certificate, is its own affair.
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake of an admin connection failed"),
            Err(_) => tracing::debug!("TLS handshake of an admin connection timed out"),
        }
    }

    async fn speak<S>(&self, stream: S, peer: Peer, place: Place)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let router = TowerToHyperService::new(self.router.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            router.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME_MAX)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service);
        let mut end = self.end.clone();
        let mut connection = pin!(connection);
        let mut ended = pin!(end.changed());
        let mut is_ending = false;
        let result = poll_fn(|context| {
            if !is_ending && ended.as_mut().poll(context).is_ready() {
                is_ending = true;
                // The answer under way is the last one.
                connection.as_mut().graceful_shutdown();
            }
            connection.as_mut().poll(context)
        });
        // A client that breaks off, or sends what is no HTTP, is its own affair.
        if let Err(error) = result.await {
            tracing::debug!(%error, "admin connection failed");
        }
        drop(place);
    }
}
