//! What guardrails say of one statement.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cql_protocol::response::insert_warnings;

use super::{Guardrails, Listed, Threshold};
use crate::clock::TimestampClock;
use crate::error::QueryError;

/// Which end of a guardrail was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The client is warned.
    Warning,
    /// The statement is refused.
    Failure,
}

impl End {
    /// Whether it is the end that refuses.
    pub(crate) fn is_failure(self) -> bool {
        self == End::Failure
    }

    /// As sentences call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            End::Warning => "warning",
            End::Failure => "failure",
        }
    }
}

/// When a guardrail was last logged: a line for each in ten minutes, as in Cassandra, whatever clients do.
#[derive(Default)]
pub(crate) struct WatchLog {
    /// Microseconds since 1970, by the guardrail's name.
    last: RefCell<BTreeMap<&'static str, i64>>,
}

impl WatchLog {
    const SILENCE_MICROS: i64 = 600_000_000;

    /// Logs what a guardrail says, unless it spoke a while ago.
    pub(crate) fn note(&self, guardrail: &'static str, message: &str, now_micros: i64) {
        let mut last = self.last.borrow_mut();
        if last.get(guardrail).is_some_and(|last| now_micros - last < Self::SILENCE_MICROS) {
            return;
        }
        last.insert(guardrail, now_micros);
        tracing::warn!(guardrail, "{message}");
    }
}

/// How many warnings a statement may have: a reply's list of them takes no more, and others may be added to it.
const WARNINGS_MAX: usize = 60_000;

/// Looks at one statement, and gathers what its client is to be told.
pub(crate) struct GuardrailCheck<'g> {
    /// The settings.
    pub(crate) rails: &'g Guardrails,
    log: &'g WatchLog,
    clock: &'g TimestampClock,
    warnings: Vec<String>,
}

impl<'g> GuardrailCheck<'g> {
    pub(crate) fn new(rails: &'g Guardrails, log: &'g WatchLog, clock: &'g TimestampClock) -> Self {
        GuardrailCheck { rails, log, clock, warnings: Vec::new() }
    }

    /// What the client is warned of.
    pub(crate) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }

    /// Puts what the client is warned of, and behind it what else the statement has `done` so, into its reply at `start` or beside its error.
    pub(crate) fn tell(
        self,
        done: Result<Vec<String>, QueryError>,
        out: &mut Vec<u8>,
        start: usize,
    ) -> Result<(), QueryError> {
        let mut warnings = self.into_warnings();
        match done {
            Ok(others) => warnings.extend(others),
            Err(error) => return Err(error.with_warnings(warnings)),
        }
        insert_warnings(out, start, &warnings);
        Ok(())
    }

    /// Logs what the client is not told in these words.
    pub(crate) fn note(&self, guardrail: &'static str, message: &str) {
        self.log.note(guardrail, message, self.clock.wall_micros());
    }

    /// Adds a warning that is logged under this name, in its own words. Those that a reply has no room for are left out.
    pub(crate) fn add(&mut self, guardrail: &'static str, message: String) {
        self.note(guardrail, &message);
        if self.warnings.len() < WARNINGS_MAX {
            self.warnings.push(message);
        }
    }

    /// Forgets what was found: the statement is looked at from its beginning.
    pub(crate) fn begin_again(&mut self) {
        self.warnings.clear();
    }

    /// Whether there is anything to warn of so far.
    pub(crate) fn is_warning(&self) -> bool {
        !self.warnings.is_empty()
    }

    /// Looks at a value that is not to be more than a threshold.
    pub(crate) fn at_most(
        &mut self,
        guardrail: &'static str,
        threshold: Threshold,
        value: i64,
        words: impl FnOnce(End, i64) -> String,
    ) -> Result<(), QueryError> {
        self.judge(guardrail, threshold, |end| value > end, words)
    }

    /// Looks at a value that is not to be less than a threshold.
    pub(crate) fn at_least(
        &mut self,
        guardrail: &'static str,
        threshold: Threshold,
        value: i64,
        words: impl FnOnce(End, i64) -> String,
    ) -> Result<(), QueryError> {
        self.judge(guardrail, threshold, |end| value < end, words)
    }

    fn judge(
        &mut self,
        guardrail: &'static str,
        threshold: Threshold,
        is_beyond: impl Fn(i64) -> bool,
        words: impl FnOnce(End, i64) -> String,
    ) -> Result<(), QueryError> {
        if let Some(end) = threshold.fail.filter(|end| is_beyond(*end)) {
            return Err(self.refuse(guardrail, &words(End::Failure, end)));
        }
        if let Some(end) = threshold.warn.filter(|end| is_beyond(*end)) {
            self.warn(guardrail, &words(End::Warning, end));
        }
        Ok(())
    }

    /// Refuses a feature that is not enabled, or warns of it.
    pub(crate) fn recommended(
        &mut self,
        guardrail: &'static str,
        (is_enabled, is_warned): (bool, bool),
        feature: &str,
    ) -> Result<(), QueryError> {
        self.enabled(guardrail, is_enabled, feature)?;
        if is_warned {
            self.warn(guardrail, &format!("{feature} is not recommended"));
        }
        Ok(())
    }

    /// Refuses a feature that is not enabled.
    pub(crate) fn enabled(
        &mut self,
        guardrail: &'static str,
        is_enabled: bool,
        feature: &str,
    ) -> Result<(), QueryError> {
        match is_enabled {
            true => Ok(()),
            false => Err(self.refuse(guardrail, &format!("{feature} is not allowed"))),
        }
    }

    /// Looks at values of which some may be listed; `shown` prints a list of them as Cassandra does. Gives those to be ignored.
    pub(crate) fn values<T: Clone + PartialEq>(
        &mut self,
        guardrail: &'static str,
        (listed, what): (&Listed<T>, &str),
        values: &[T],
        shown: impl Fn(&[T]) -> String,
        shown_set: impl Fn(&[T]) -> String,
    ) -> Result<Vec<T>, QueryError> {
        let among = |list: &[T]| values.iter().filter(|value| list.contains(value)).cloned().collect::<Vec<T>>();
        let disallowed = among(&listed.disallowed);
        if !disallowed.is_empty() {
            let (values, all) = (shown(&disallowed), shown_set(&listed.disallowed));
            let message = format!("Provided values {values} are not allowed for {what} (disallowed values are: {all})");
            return Err(self.refuse(guardrail, &message));
        }
        let ignored = among(&listed.ignored);
        if !ignored.is_empty() {
            let (values, all) = (shown(&ignored), shown_set(&listed.ignored));
            let message = format!(
                "Ignoring provided values {values} as they are not supported for {what} (ignored values are: {all})"
            );
            self.warn(guardrail, &message);
        }
        let warned = among(&listed.warned);
        if !warned.is_empty() {
            let (values, all) = (shown(&warned), shown_set(&listed.warned));
            let message = format!("Provided values {values} are not recommended for {what} (warned values are: {all})");
            self.warn(guardrail, &message);
        }
        Ok(ignored)
    }

    /// Warns.
    pub(crate) fn warn(&mut self, guardrail: &'static str, message: &str) {
        self.add(guardrail, violated(guardrail, message));
    }

    /// The error that refuses the statement. Its client is told of it as a warning too, with all before.
    pub(crate) fn refuse(&mut self, guardrail: &'static str, message: &str) -> QueryError {
        let message = violated(guardrail, message);
        self.add(guardrail, message.clone());
        QueryError::Guardrail { message, warnings: std::mem::take(&mut self.warnings) }
    }
}

/// The error that refuses a statement while it is planned.
pub(crate) fn refused(guardrail: &'static str, message: &str) -> QueryError {
    let message = violated(guardrail, message);
    QueryError::Guardrail { warnings: vec![message.clone()], message }
}

/// Why there is a guardrail, where Cassandra says it.
fn reason(guardrail: &str) -> Option<&'static str> {
    Some(match guardrail {
        "allow_filtering" => {
            "ALLOW FILTERING can potentially visit all the data in the table and have unpredictable performance."
        }
        "intersect_filtering_query" => {
            "Filtering queries involving an intersection on multiple mutable (i.e. non-key) columns over unrepaired data at read consistency levels that would require coordinator reconciliation may violate the guarantees of those consistency levels."
        }
        "maximum_timestamp" => "Timestamps too far in the future can lead to data that can't be easily overwritten",
        "minimum_timestamp" => "Timestamps too far in the past can cause writes can be unexpectedly lost",
        // The blank at its end is Cassandra's.
        "zero_ttl_on_twcs" => {
            "It is suspicious to use default_time_to_live set to 0 with such compaction strategy. Please keep in mind that data will not start to automatically expire after they are older than a respective compaction window unit of a certain size. Please set TTL for your INSERT or UPDATE statements if you expect data to be expired as table settings will not do it. "
        }
        _ => return None,
    })
}

/// A guardrail's sentence as clients read it.
fn violated(guardrail: &str, message: &str) -> String {
    let end = if message.ends_with('.') { " " } else { ". " };
    let reason = reason(guardrail).map_or_else(String::new, |reason| format!("{end}{reason}"));
    format!("Guardrail {guardrail} violated: {message}{reason}")
}
