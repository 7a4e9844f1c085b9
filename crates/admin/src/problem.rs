//! What is answered where there is no answer: a status and one sentence, in ScyllaDB's shape.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Problem {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Problem { status, message: message.into() }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Problem::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        Problem::new(StatusCode::UNAUTHORIZED, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Problem::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Problem::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn no_method(message: impl Into<String>) -> Self {
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, message)
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    pub(crate) fn wrong_type(message: impl Into<String>) -> Self {
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// A shard answered another question than it was asked.
    pub(crate) fn mixed_up() -> Self {
        Problem::failed("internal error: unexpected response of a shard")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({"message": self.message, "code": self.status.as_u16()}).to_string();
        let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        (self.status, kind, body).into_response()
    }
}
