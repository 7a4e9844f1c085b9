//! Times: now() and its like, conversions between the types of time, times rounded down, and uuid().

use cql_types::{CqlType, Duration, calendar, timeuuid};

use crate::call::Body;
use crate::{Call, Context, FunctionError, temporal};

const MILLI_MICROS: i64 = 1_000;
const DAY_MICROS: i64 = 86_400_000_000;

/// The functions of a name.
pub(crate) fn overloads(name: &str) -> Option<Vec<Call>> {
    use CqlType as T;
    let now = |ty: CqlType| Some(vec![Call::new(name, vec![], ty.clone(), Now { ty }).impure().seeing_nulls()]);
    let converted = |from: &[CqlType], to: CqlType| {
        let call = |from: &CqlType| {
            let body = Converted { from: from.clone(), to: to.clone() };
            Call::new(name, vec![from.clone()], to.clone(), body)
        };
        Some(from.iter().map(call).collect())
    };
    let bound = |is_max| Some(vec![Call::new(name, vec![T::Timestamp], T::Timeuuid, Bound { is_max })]);
    match name {
        "now" | "current_timeuuid" | "currenttimeuuid" => now(T::Timeuuid),
        "uuid" => now(T::Uuid),
        "current_timestamp" | "currenttimestamp" => now(T::Timestamp),
        "current_date" | "currentdate" => now(T::Date),
        "current_time" | "currenttime" => now(T::Time),
        "min_timeuuid" | "mintimeuuid" => bound(false),
        "max_timeuuid" | "maxtimeuuid" => bound(true),
        "to_date" | "todate" => converted(&[T::Timeuuid, T::Timestamp], T::Date),
        "to_timestamp" | "totimestamp" => converted(&[T::Timeuuid, T::Date], T::Timestamp),
        "to_unix_timestamp" | "tounixtimestamp" => converted(&[T::Timeuuid, T::Timestamp, T::Date], T::Bigint),
        "floor" => Some(floors()),
        _ => None,
    }
}

fn floors() -> Vec<Call> {
    use CqlType as T;
    let floor = |of: CqlType, start: Option<CqlType>, returns: CqlType| {
        let body = Floor { of: of.clone(), returns: returns.clone() };
        let arguments = [of, T::Duration].into_iter().chain(start).collect();
        Call::new("floor", arguments, returns, body)
    };
    vec![
        floor(T::Timestamp, None, T::Timestamp),
        floor(T::Timestamp, Some(T::Timestamp), T::Timestamp),
        floor(T::Timeuuid, None, T::Timestamp),
        floor(T::Timeuuid, Some(T::Timestamp), T::Timestamp),
        floor(T::Date, None, T::Date),
        floor(T::Date, Some(T::Date), T::Date),
        floor(T::Time, None, T::Time),
    ]
}

#[derive(Debug)]
struct Now {
    ty: CqlType,
}

impl Body for Now {
    fn evaluate(
        &self,
        _: &[Option<&[u8]>],
        context: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        match self.ty {
            CqlType::Timeuuid => out.extend_from_slice(&context.time_uuid()),
            CqlType::Uuid => out.extend_from_slice(&context.random_uuid()),
            CqlType::Date => {
                out.extend_from_slice(&temporal::date_of_millis(context.now_micros().div_euclid(MILLI_MICROS)));
            }
            CqlType::Time => {
                let nanos = context.now_micros().rem_euclid(DAY_MICROS) * 1_000;
                out.extend_from_slice(&nanos.to_be_bytes());
            }
            _ => out.extend_from_slice(&context.now_micros().div_euclid(MILLI_MICROS).to_be_bytes()),
        }
        Ok(true)
    }
}

#[derive(Debug)]
struct Converted {
    from: CqlType,
    to: CqlType,
}

impl Body for Converted {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let value = arguments.first().copied().flatten();
        let Some(millis) = value.and_then(|value| temporal::millis(&self.from, value)) else { return Ok(false) };
        out.extend_from_slice(&temporal::of_millis(&self.to, millis));
        Ok(true)
    }
}

/// The first or last timeuuid of a millisecond.
#[derive(Debug)]
struct Bound {
    is_max: bool,
}

impl Body for Bound {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let value = arguments.first().copied().flatten();
        let Some(millis) = value.and_then(|value| temporal::millis(&CqlType::Timestamp, value)) else {
            return Ok(false);
        };
        let uuid =
            if self.is_max { timeuuid::max_of_unix_millis(millis) } else { timeuuid::min_of_unix_millis(millis) };
        let beyond = || FunctionError::invalid("A timeuuid cannot hold a time that far from 1582");
        out.extend_from_slice(&uuid.ok_or_else(beyond)?);
        Ok(true)
    }
}

#[derive(Debug)]
struct Floor {
    of: CqlType,
    returns: CqlType,
}

impl Body for Floor {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let [Some(value), Some(duration), start @ ..] = arguments else { return Ok(false) };
        let Ok(duration) = Duration::decode(duration) else { return Ok(false) };
        let Some(at) = temporal::millis(&self.of, value) else { return Ok(false) };
        if self.of == CqlType::Time {
            let floor = temporal::floor_time(at, duration).map_err(FunctionError::invalid)?;
            out.extend_from_slice(&floor.to_be_bytes());
            return Ok(true);
        }
        let start = match start {
            [start, ..] => start.and_then(|start| temporal::millis(&self.returns, start)),
            [] => Some(0),
        };
        let Some(start) = start else { return Ok(false) };
        self.check_precision(duration)?;
        let floor = temporal::floor(at, duration, start).map_err(FunctionError::invalid)?;
        out.extend_from_slice(&temporal::of_millis(&self.returns, floor));
        Ok(true)
    }
}

impl Floor {
    fn check_precision(&self, duration: Duration) -> Result<(), FunctionError> {
        let shown = temporal::shown(duration);
        if self.of == CqlType::Date && duration.nanos != 0 {
            return Err(FunctionError::invalid(format!(
                "The floor on date values cannot be computed for the {shown} duration as precision is below 1 day"
            )));
        }
        if duration.nanos % 1_000_000 != 0 {
            return Err(FunctionError::invalid(format!(
                "The floor cannot be computed for the {shown} duration as precision is below 1 millisecond"
            )));
        }
        Ok(())
    }
}

/// A time of day is less than this.
const _: () = assert!(calendar::NANOS_OF_DAY == DAY_MICROS * 1_000);

#[cfg(test)]
mod tests {
    use crate::tests::evaluated;

    const UUID: &str = "c4a760a8-dbcf-11e9-8a34-2a2ae2dbcce4";

    #[test]
    fn times_are_converted() {
        for (name, arguments, expected) in [
            ("to_date", &[("timeuuid", UUID)][..], "'2019-09-20'"),
            ("totimestamp", &[("timeuuid", UUID)], "'2019-09-20T17:55:01.552Z'"),
            ("to_unix_timestamp", &[("timeuuid", UUID)], "1569002101552"),
            ("tounixtimestamp", &[("date", "2011-02-03")], "1296691200000"),
            ("todate", &[("timestamp", "1969-12-31T23:59:59.999Z")], "'1970-01-01'"),
            ("min_timeuuid", &[("timestamp", "2013-01-01T00:05Z")], "e23f1e00-53a6-11e2-8080-808080808080"),
            ("maxtimeuuid", &[("timestamp", "2013-01-01T00:05Z")], "e23f450f-53a6-11e2-7f7f-7f7f7f7f7f7f"),
            ("floor", &[("timestamp", "2016-09-27T16:12:00Z"), ("duration", "2h")], "'2016-09-27T16:00:00.000Z'"),
            ("floor", &[("date", "2016-09-27"), ("duration", "1mo")], "'2016-09-01'"),
            ("floor", &[("timeuuid", UUID), ("duration", "1d")], "'2019-09-20T00:00:00.000Z'"),
            ("floor", &[("time", "16:12:13"), ("duration", "1m")], "'16:12:00.000000000'"),
            (
                "floor",
                &[("timestamp", "2016-09-27T16:12:00Z"), ("duration", "2h"), ("timestamp", "2016-09-27T01:00Z")],
                "'2016-09-27T15:00:00.000Z'",
            ),
        ] {
            assert_eq!(evaluated(name, arguments).unwrap(), expected, "{name}");
        }
        let error = evaluated("floor", &[("date", "2016-09-27"), ("duration", "1h")]).unwrap_err();
        let words = "The floor on date values cannot be computed for the 1h duration as precision is below 1 day";
        assert_eq!(error.to_string(), words);
    }

    #[test]
    fn what_is_made_up_comes_from_the_context() {
        // The context of the tests is at one second past 1970.
        assert_eq!(evaluated("current_timestamp", &[]).unwrap(), "'1970-01-01T00:00:01.000Z'");
        assert_eq!(evaluated("currentdate", &[]).unwrap(), "'1970-01-01'");
        assert_eq!(evaluated("currenttime", &[]).unwrap(), "'00:00:01.000000000'");
        assert_eq!(evaluated("uuid", &[]).unwrap(), "00000000-0000-4000-8000-000000000000");
        assert!(super::overloads("now").is_some_and(|calls| !calls[0].is_pure()));
    }
}
