//! The door against a shard that knows two roles: who is let through with what, and what the answers say.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use super::*;

const PORT: PortKind = PortKind { ip: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), number: 10000, is_tls: false };

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

#[test]
fn a_page_of_this_origin_is_known_by_what_its_browser_says() {
    assert!(is_of_own_page(&headers(&[("origin", "http://127.0.0.1:10000")])));
    assert!(is_of_own_page(&headers(&[("sec-fetch-site", "same-origin")])));
    for lines in [&[][..], &[("sec-fetch-site", "same-site")], &[("sec-fetch-site", "none")]] {
        assert!(!is_of_own_page(&headers(lines)), "{lines:?}");
    }
}

/// The status of a request to a door without shards: a request that has to ask one is `503`.
async fn status(app: &App, method: Method, path: &str, lines: &[(&'static str, &str)]) -> (StatusCode, HeaderMap) {
    let door = Door { app: app.clone(), port: PORT };
    let router = Router::new()
        .route("/storage_service/load", get(|| async {}).post(|| async {}))
        .route("/health", get(|| async {}))
        .layer(from_fn_with_state(door, pass));
    let mut request = Request::new(Body::empty());
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().expect("a path");
    *request.headers_mut() = headers(lines);
    let Ok(response) = TowerToHyperService::new(router).call(request).await;
    (response.status(), response.headers().clone())
}

fn app(asks_login: bool) -> App {
    let (questions, _seats) = crate::ask::questions(1);
    let log_level = crate::LogLevel { get: Arc::new(|| tracing::Level::INFO), set: Arc::new(|_| true) };
    App::new(questions, log_level, "0", asks_login)
}

#[tokio::test(flavor = "current_thread")]
async fn without_an_authenticator_all_pass() {
    let app = app(false);
    assert_eq!(status(&app, Method::GET, "/storage_service/load", &[]).await.0, StatusCode::OK);
    assert_eq!(status(&app, Method::POST, "/storage_service/load", &[]).await.0, StatusCode::OK);
}

#[tokio::test(flavor = "current_thread")]
async fn with_one_only_roles_pass_and_browsers_are_not_asked_by_a_box() {
    let app = app(true);
    assert_eq!(status(&app, Method::GET, "/health", &[]).await.0, StatusCode::OK);
    let (code, said) = status(&app, Method::GET, "/storage_service/load", &[]).await;
    assert_eq!(code, StatusCode::UNAUTHORIZED);
    assert!(said.get("www-authenticate").is_some_and(|value| value.as_bytes().starts_with(b"Basic ")));
    let (code, said) = status(&app, Method::GET, "/storage_service/load", &[("sec-fetch-site", "same-origin")]).await;
    assert_eq!((code, said.contains_key("www-authenticate")), (StatusCode::UNAUTHORIZED, false));
    let malformed = status(&app, Method::GET, "/storage_service/load", &[("authorization", "Bearer x")]).await;
    assert_eq!(malformed.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "current_thread")]
async fn a_cookie_stands_for_its_role_and_changes_need_the_page() {
    let app = app(true);
    app.sessions().add(Cookie::new([7; 16]), "ada".to_owned(), Proof("a hash".to_owned()));
    let line = format!("helenus-10000={}", "07".repeat(16));
    let cookie = ("cookie", line.as_str());
    // The shard would be asked for ada's permissions, and there is none.
    let asked = StatusCode::SERVICE_UNAVAILABLE;
    let own = ("sec-fetch-site", "same-origin");
    assert_eq!(status(&app, Method::GET, "/storage_service/load", &[cookie]).await.0, asked);
    assert_eq!(status(&app, Method::POST, "/storage_service/load", &[cookie, own]).await.0, asked);
    assert_eq!(status(&app, Method::POST, "/storage_service/load", &[cookie]).await.0, StatusCode::FORBIDDEN);
    let other = format!("helenus-10000={}", "08".repeat(16));
    let strange = status(&app, Method::GET, "/storage_service/load", &[("cookie", &other)]).await;
    assert_eq!(strange.0, StatusCode::UNAUTHORIZED);
}
