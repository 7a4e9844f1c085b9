//! Answers in JSON, in ScyllaDB's shapes.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use stdx::LogHistogram;

use crate::facts::Buckets;
use crate::problem::Problem;

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Json(pub(crate) Value);

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        (kind, self.0.to_string()).into_response()
    }
}

/// What a question comes to.
pub(crate) type Reply = Result<Json, Problem>;

/// What a command comes to: ScyllaDB's `void`, an empty body.
pub(crate) type Void = Result<(), Problem>;

/// `{"key": …, "value": …}`.
pub(crate) fn pair(key: impl Into<Value>, value: impl Into<Value>) -> Value {
    json!({"key": key.into(), "value": value.into()})
}

/// An estimated histogram.
pub(crate) fn buckets(buckets: &Buckets) -> Value {
    json!({"buckets": buckets.counts, "bucket_offsets": buckets.offsets})
}

/// The same of what requests took.
pub(crate) fn histogram(histogram: &LogHistogram) -> Value {
    json!({"buckets": histogram.counts(), "bucket_offsets": stdx::upper_bounds().collect::<Vec<u64>>()})
}
