//! Timeouts by kind: what `gettimeout` shows and `settimeout` sets, in seconds. The settings hold until the node's next start.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::get;

use crate::ask::{Answer, Question, TimeoutKind};
use crate::json::{Json, Reply, Void};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::state::App;

/// Longer times are misspelt.
const SECONDS_MAX: u32 = 365 * 24 * 3600;

const PATHS: [(&str, TimeoutKind); 8] = [
    ("/storage_proxy/read_rpc_timeout", TimeoutKind::Read),
    ("/storage_proxy/range_rpc_timeout", TimeoutKind::Range),
    ("/storage_proxy/write_rpc_timeout", TimeoutKind::Write),
    ("/storage_proxy/counter_write_rpc_timeout", TimeoutKind::CounterWrite),
    ("/storage_proxy/cas_contention_timeout", TimeoutKind::CasContention),
    ("/storage_proxy/truncate_rpc_timeout", TimeoutKind::Truncate),
    ("/storage_proxy/rpc_timeout", TimeoutKind::Misc),
    ("/storage_proxy/internode_tcp_connect_timeout", TimeoutKind::InternodeConnect),
];

pub(super) fn routes() -> Router<App> {
    PATHS.iter().fold(Router::new(), |router, &(path, kind)| {
        let show =
            move |State(app): State<App>, parameters: Parameters| async move { show(&app, kind, &parameters).await };
        let set =
            move |State(app): State<App>, parameters: Parameters| async move { set(&app, kind, &parameters).await };
        router.route(path, get(show).post(set))
    })
}

async fn show(app: &App, kind: TimeoutKind, parameters: &Parameters) -> Reply {
    parameters.only(&[])?;
    match app.ask(0, Question::Timeout(kind)).await? {
        Answer::Timeout(time) => Ok(Json(time.as_secs_f64().into())),
        _ => Err(Problem::mixed_up()),
    }
}

async fn set(app: &App, kind: TimeoutKind, parameters: &Parameters) -> Void {
    parameters.only(&["timeout"])?;
    app.tell_all(Question::SetTimeout(kind, time(parameters.needed("timeout")?)?)).await
}

/// Seconds, with a fraction or without, to the millisecond.
fn time(text: &str) -> Result<Duration, Problem> {
    let seconds = text.parse().ok().filter(|seconds: &f64| (0.0..=f64::from(SECONDS_MAX)).contains(seconds));
    let seconds = seconds.ok_or_else(|| {
        Problem::bad_request(format!("timeout: '{text}' is not a number of seconds from 0 to {SECONDS_MAX}"))
    })?;
    Ok(Duration::from_millis((seconds * 1000.0).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_millisecond() {
        for (text, millis) in
            [("5", 5000), ("5.0", 5000), ("1.234", 1234), ("0.001", 1), ("0", 0), ("31536000", 31_536_000_000)]
        {
            assert_eq!(time(text).unwrap(), Duration::from_millis(millis), "{text}");
        }
        for wrong in ["", "-1", "-0.001", "x", "NaN", "inf", "5s", "31536000.5", "1e300"] {
            assert!(time(wrong).unwrap_err().message.contains("is not a number of seconds"), "{wrong}");
        }
    }
}
