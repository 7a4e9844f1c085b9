//! CAST: numbers to numbers, values to text, and between the types of time.

use cql_types::CqlType;

use crate::call::{AsItIs, Body, Shown};
use crate::decimal::Decimal;
use crate::number::{NUMERIC_TYPES, Number, is_numeric};
use crate::{Call, Context, FunctionError, temporal};

/// The types besides numbers that can be cast to text.
const SHOWN_TYPES: [CqlType; 7] = [
    CqlType::Inet,
    CqlType::Boolean,
    CqlType::Timeuuid,
    CqlType::Timestamp,
    CqlType::Date,
    CqlType::Time,
    CqlType::Uuid,
];

/// The name of the function that casts to a type.
pub(crate) fn name(to: &CqlType) -> String {
    format!("cast_as_{to}")
}

/// The functions that cast to a type, by their name; the names of before 5.0 have capitals: `castAsInt`.
pub(crate) fn overloads(name: &str) -> Option<Vec<Call>> {
    let to = match name.strip_prefix("cast_as_") {
        Some(to) => CqlType::native(to).filter(|ty| ty.to_string() == to)?,
        None => {
            let capital = name.strip_prefix("castAs")?;
            let ty = CqlType::native(capital)?;
            let lower = ty.to_string();
            let (first, rest) = lower.split_at(1);
            (capital == format!("{}{rest}", first.to_ascii_uppercase())).then_some(ty)?
        }
    };
    let mut from: Vec<CqlType> = Vec::new();
    match to {
        CqlType::Ascii => from.extend(NUMERIC_TYPES.into_iter().chain(SHOWN_TYPES)),
        CqlType::Text => from.extend(NUMERIC_TYPES.into_iter().chain([CqlType::Ascii]).chain(SHOWN_TYPES)),
        CqlType::Date => from.extend([CqlType::Timeuuid, CqlType::Timestamp]),
        CqlType::Timestamp => from.extend([CqlType::Timeuuid, CqlType::Date]),
        // Nothing becomes a counter.
        CqlType::Counter => return None,
        ref to if is_numeric(to) => from.extend(NUMERIC_TYPES.into_iter().filter(|from| from != to)),
        _ => return None,
    }
    let call = |from: CqlType| {
        let body = Cast { from: from.clone(), to: to.clone() };
        Call::new(name, vec![from], to.clone(), body).shown(Shown::Cast)
    };
    Some(from.into_iter().map(call).collect())
}

/// A value left as it is.
pub(crate) fn same(ty: CqlType) -> Call {
    Call::new(&name(&ty), vec![ty.clone()], ty, AsItIs).seeing_nulls().shown(Shown::Cast)
}

#[derive(Debug)]
struct Cast {
    from: CqlType,
    to: CqlType,
}

impl Body for Cast {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let Some(value) = arguments.first().copied().flatten() else { return Ok(false) };
        match self.to {
            CqlType::Text | CqlType::Ascii => out.extend_from_slice(text(&self.from, value).as_bytes()),
            CqlType::Date | CqlType::Timestamp => {
                let Some(millis) = temporal::millis(&self.from, value) else { return Ok(false) };
                out.extend_from_slice(&temporal::of_millis(&self.to, millis));
            }
            _ => {
                let Some(number) = Number::read(&self.from, value) else { return Ok(false) };
                numeric(number, &self.to)?.write(out);
            }
        }
        Ok(true)
    }
}

/// A value as text: as it is printed, without quotes.
fn text(ty: &CqlType, value: &[u8]) -> String {
    if let CqlType::Ascii = ty {
        return String::from_utf8_lossy(value).into_owned();
    }
    if let (CqlType::Timestamp, Some(millis)) = (ty, value.first_chunk()) {
        return cql_types::timestamp_of_era(i64::from_be_bytes(*millis), 'T');
    }
    let printed = cql_types::print(ty, value);
    match printed.strip_prefix('\'').and_then(|printed| printed.strip_suffix('\'')) {
        Some(inside) => inside.to_owned(),
        None => printed,
    }
}

fn numeric(number: Number, to: &CqlType) -> Result<Number, FunctionError> {
    let to_decimal = *to == CqlType::Decimal;
    Ok(match number {
        // A varint becomes what its lowest 64 bits are, and a decimal that of its whole part.
        Number::Float(number) if to_decimal => Number::Decimal(decimal(f64::from(number), Decimal::of_f32(number))?),
        Number::Double(number) if to_decimal => Number::Decimal(decimal(number, Decimal::of_f64(number))?),
        Number::Varint(number) if to_decimal => Number::Decimal(Decimal::integer(number)),
        number if to_decimal => Number::Decimal(Decimal::integer(number.to_i64().into())),
        number => number.into_type(to).map_err(|error| FunctionError::server(error.0))?,
    })
}

/// The decimal, if the number that it is made of is finite.
fn decimal(number: f64, decimal: Decimal) -> Result<Decimal, FunctionError> {
    if number.is_finite() {
        return Ok(decimal);
    }
    let first = if number.is_nan() { 'N' } else { 'I' };
    Err(FunctionError::server(format!(
        "java.lang.NumberFormatException: Character {first} is neither a decimal digit number, decimal point, nor \"e\" notation exponential mark."
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{evaluated, value};
    use crate::{ResolveError, cast};

    #[test]
    fn values_are_cast() {
        for (name, ty, argument, expected) in [
            ("cast_as_int", "bigint", "4294967297", "1"),
            ("cast_as_int", "double", "1e10", "2147483647"),
            ("cast_as_tinyint", "int", "200", "-56"),
            ("cast_as_varint", "decimal", "12.9", "12"),
            ("cast_as_varint", "double", "1e30", "9223372036854775807"),
            ("cast_as_decimal", "float", "0.1", "0.1"),
            ("cast_as_decimal", "int", "5", "5"),
            ("cast_as_decimal", "double", "100", "100.0"),
            ("cast_as_text", "double", "2", "'2.0'"),
            ("cast_as_text", "timestamp", "2015-05-21T11:03:02Z", "'2015-05-21T11:03:02.000Z'"),
            ("cast_as_ascii", "boolean", "true", "'true'"),
            ("cast_as_text", "ascii", "it's", "'it''s'"),
            ("cast_as_text", "inet", "::1", "'0:0:0:0:0:0:0:1'"),
            ("cast_as_date", "timestamp", "2015-05-21T11:03:02Z", "'2015-05-21'"),
            ("cast_as_timestamp", "date", "2015-05-21", "'2015-05-21T00:00:00.000Z'"),
            ("cast_as_date", "timeuuid", "c4a760a8-dbcf-11e9-8a34-2a2ae2dbcce4", "'2019-09-20'"),
            ("castAsInt", "double", "2.9", "2"),
        ] {
            assert_eq!(evaluated(name, &[(ty, argument)]).unwrap(), expected, "{name}({argument}) of {ty}");
        }
        assert!(evaluated("cast_as_decimal", &[("double", "NaN")]).is_err());
    }

    #[test]
    fn some_casts_are_none() {
        let (text, _) = value("text", "a");
        for to in [CqlType::Int, CqlType::Ascii] {
            let words = cast(&text, &to, &to.to_string()).unwrap_err().message(&|_| "x".to_owned());
            assert!(words.starts_with(&format!("Invalid call to function system.cast_as_{to}, none of")), "{words}");
        }
        for to in [CqlType::Blob, CqlType::Counter] {
            let error = cast(&text, &to, &to.to_string()).unwrap_err();
            assert!(matches!(error, ResolveError::Argument { .. }), "{to}");
            assert_eq!(error.message(&|_| "x".to_owned()), format!("x cannot be cast to {to}"));
        }
        assert_eq!(cast(&text, &text, "varchar").unwrap().column_name(&["x"]), "cast(x as text)");
        let words = cast(&CqlType::Int, &text, "VARCHAR").unwrap_err().message(&|_| "x".to_owned());
        assert_eq!(words, "x cannot be cast to varchar", "text's other name is no cast's");
    }
}
