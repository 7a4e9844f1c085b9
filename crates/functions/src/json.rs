//! to_json() and from_json(). What values look like as JSON is `cql_types::json`'s.

use cql_types::json::{self, Json};
use cql_types::{CqlType, ValueError};

use crate::call::Body;
use crate::parameter::{self, Parameter};
use crate::{Argument, Call, Context, FunctionError, ResolveError};

/// The function of a name for such arguments.
pub(crate) fn make(
    name: &str,
    arguments: &[Argument<'_>],
    receiver: Option<&CqlType>,
) -> Option<Result<Call, ResolveError>> {
    match name {
        "to_json" | "tojson" => {
            let types = parameter::infer(name, &[Parameter::Any { from_receiver: false }], arguments, receiver);
            Some(types.map(|types| {
                let body = ToJson { ty: types[0].clone() };
                Call::new(name, types, CqlType::Text, body).seeing_nulls()
            }))
        }
        "from_json" | "fromjson" => {
            let parameter = Parameter::Fixed(&[CqlType::Text], "text");
            let types = parameter::infer(name, &[parameter], arguments, receiver);
            Some(types.and_then(|_| {
                let receiver = receiver.ok_or_else(|| {
                    ResolveError::invalid(format!(
                        "{name}() cannot be used in the selection clause of a SELECT statement"
                    ))
                })?;
                let body = FromJson { name: name.to_owned(), ty: receiver.clone() };
                Ok(Call::new(name, vec![CqlType::Text], receiver.clone(), body))
            }))
        }
        _ => None,
    }
}

#[derive(Debug)]
struct ToJson {
    ty: CqlType,
}

impl Body for ToJson {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        match arguments.first().copied().flatten() {
            // A duration has no bytes that mean nothing in Cassandra, so that it shows those as its own.
            Some(value) if !value.is_empty() || !self.ty.has_meaningless_empty() || self.ty == CqlType::Duration => {
                json::to_json(&self.ty, value, out);
            }
            // Null is a text too.
            _ => out.extend_from_slice(b"null"),
        }
        Ok(true)
    }
}

#[derive(Debug)]
struct FromJson {
    name: String,
    ty: CqlType,
}

impl FromJson {
    fn failed(&self, message: String) -> FunctionError {
        FunctionError::Failed { function: self.name.clone(), arguments: vec![CqlType::Text], message }
    }
}

impl Body for FromJson {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let text = arguments.first().copied().flatten().and_then(|text| std::str::from_utf8(text).ok());
        let Some(text) = text else { return Ok(false) };
        let json = json::parse(text).map_err(|reason| {
            let name = &self.name;
            self.failed(format!(
                "execution of 'system.{name}[text]' failed: Could not decode JSON string '{text}': {}",
                reason.with_class()
            ))
        })?;
        if json == Json::Null {
            return Ok(false);
        }
        let value = json::from_json(&self.ty, &json).map_err(|error| match error {
            ValueError::Request { reason } => FunctionError::invalid(reason),
            reason => self.failed(format!("org.apache.cassandra.serializers.MarshalException: {reason}")),
        })?;
        out.extend_from_slice(&value);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Nothing, evaluated};

    #[test]
    fn values_become_texts() {
        assert_eq!(evaluated("to_json", &[("int", "5")]).unwrap(), "'5'");
        assert_eq!(evaluated("tojson", &[("text", "a\"b")]).unwrap(), "'\"a\\\"b\"'");
        let call = make("tojson", &[Argument::Typed(&CqlType::Int)], None).unwrap().unwrap();
        let mut out = Vec::new();
        assert_eq!(call.evaluate(&[None], &mut Nothing, &mut out), Ok(true));
        assert_eq!(out, b"null");
    }

    #[test]
    fn empty_values_become_null_where_they_mean_nothing() {
        for (ty, text) in
            [("int", "null"), ("boolean", "null"), ("text", "\"\""), ("blob", "\"0x\""), ("duration", "\"\"")]
        {
            let ty = CqlType::parse(ty).unwrap();
            let call = make("to_json", &[Argument::Typed(&ty)], None).unwrap().unwrap();
            let mut out = Vec::new();
            assert_eq!(call.evaluate(&[Some(b"")], &mut Nothing, &mut out), Ok(true));
            assert_eq!(String::from_utf8(out).unwrap(), text, "{ty}");
        }
    }

    #[test]
    fn texts_become_values_of_the_receiver() {
        assert!(make("fromJson", &[Argument::Marker], None).is_none(), "names are in lower case");
        let error = make("fromjson", &[Argument::Marker], None).unwrap().unwrap_err();
        let words = "fromjson() cannot be used in the selection clause of a SELECT statement";
        assert_eq!(error.message(&|_| String::new()), words);
        let call = make("from_json", &[Argument::Marker], Some(&CqlType::Int)).unwrap().unwrap();
        let mut out = Vec::new();
        assert_eq!(call.evaluate(&[Some(b"5")], &mut Nothing, &mut out), Ok(true));
        assert_eq!(out, 5_i32.to_be_bytes());
        assert_eq!(call.evaluate(&[Some(b"null")], &mut Nothing, &mut Vec::new()), Ok(false));
        let error = call.evaluate(&[Some(b"\"x\"")], &mut Nothing, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "org.apache.cassandra.serializers.MarshalException: Unable to make int from 'x'");
        assert!(call.evaluate(&[Some(b"[")], &mut Nothing, &mut Vec::new()).is_err());
    }
}
