//! map_keys, map_values, and the aggregates over a collection's elements.

use cql_types::{CqlType, compose, parts_of_collection};

use crate::aggregate::{Kind, State};
use crate::call::Body;
use crate::parameter::{self, Parameter};
use crate::{Argument, Call, Context, FunctionError, ResolveError};

/// The function of a name for such arguments.
pub(crate) fn make(
    name: &str,
    arguments: &[Argument<'_>],
    receiver: Option<&CqlType>,
) -> Option<Result<Call, ResolveError>> {
    let parameter = match name {
        "map_keys" | "map_values" => Parameter::Map,
        "collection_count" => Parameter::Collection,
        "collection_min" | "collection_max" => Parameter::SetOrList,
        "collection_sum" | "collection_avg" => Parameter::NumericSetOrList,
        _ => return None,
    };
    Some(parameter::infer(name, &[parameter], arguments, receiver).map(|mut types| call(name, types.remove(0))))
}

fn call(name: &str, collection: CqlType) -> Call {
    let (returns, function) = match (name, &collection) {
        ("map_keys", CqlType::Map { key, .. }) => (CqlType::Set { element: key.clone(), frozen: true }, Function::Keys),
        ("map_values", CqlType::Map { value, .. }) => {
            (CqlType::List { element: value.clone(), frozen: true }, Function::Values)
        }
        ("collection_count", _) => (CqlType::Int, Function::Count),
        (_, CqlType::List { element, .. } | CqlType::Set { element, .. }) => {
            let kind = match name {
                "collection_min" => Kind::Min,
                "collection_max" => Kind::Max,
                "collection_sum" => Kind::Sum,
                _ => Kind::Avg,
            };
            ((**element).clone(), Function::Aggregate(kind, (**element).clone()))
        }
        _ => panic!("{name} takes no {collection}"),
    };
    let body = OfCollection { collection: collection.clone(), returns: returns.clone(), function };
    Call::new(name, vec![collection], returns, body)
}

#[derive(Debug)]
enum Function {
    Keys,
    Values,
    Count,
    Aggregate(Kind, CqlType),
}

#[derive(Debug)]
struct OfCollection {
    collection: CqlType,
    returns: CqlType,
    function: Function,
}

impl Body for OfCollection {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let Some(value) = arguments.first().copied().flatten() else { return Ok(false) };
        let parts = parts_of_collection(&self.collection, value);
        let every_second = |skipped: usize| -> Vec<Option<&[u8]>> {
            parts_of_collection(&self.collection, value).skip(skipped).step_by(2).map(Some).collect()
        };
        let composed = |parts: Vec<Option<&[u8]>>| {
            compose(&self.returns, &parts).map_err(|error| FunctionError::invalid(error.to_string()))
        };
        match &self.function {
            Function::Keys => out.extend_from_slice(&composed(every_second(0))?),
            Function::Values => out.extend_from_slice(&composed(every_second(1))?),
            Function::Count => {
                // A map has two parts for each entry.
                let count = value.first_chunk::<4>().map_or(0, |count| i32::from_be_bytes(*count));
                out.extend_from_slice(&count.to_be_bytes());
            }
            Function::Aggregate(kind, element) => {
                let mut state = State::new(*kind, element);
                for part in parts {
                    state.add(Some(part))?;
                }
                return state.finish(out);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Nothing, printed, value};

    fn of(name: &str, ty: &str, elements: &[&str]) -> String {
        let ty = CqlType::parse(ty).unwrap();
        let types: Vec<&CqlType> = match &ty {
            CqlType::Map { key, value, .. } => vec![&**key, &**value],
            CqlType::List { element, .. } | CqlType::Set { element, .. } => vec![&**element],
            _ => panic!("no collection"),
        };
        let parts: Vec<Vec<u8>> =
            elements.iter().zip(types.iter().cycle()).map(|(text, ty)| value(&ty.to_string(), text).1).collect();
        let parts: Vec<Option<&[u8]>> = parts.iter().map(|part| Some(&part[..])).collect();
        let collection = compose(&ty, &parts).unwrap();
        let call = make(name, &[Argument::Typed(&ty)], None).unwrap().unwrap();
        let mut out = Vec::new();
        let is_there = call.evaluate(&[Some(&collection)], &mut Nothing, &mut out).unwrap();
        printed(call.returns(), is_there.then_some(&out))
    }

    #[test]
    fn collections_are_taken_apart() {
        assert_eq!(of("map_keys", "map<int, text>", &["2", "b", "1", "a"]), "{1, 2}");
        assert_eq!(of("map_values", "map<int, text>", &["2", "b", "1", "a"]), "['a', 'b']");
        assert_eq!(of("collection_count", "map<int, text>", &["2", "b", "1", "a"]), "2");
        assert_eq!(of("collection_count", "list<int>", &[]), "0");
    }

    #[test]
    fn elements_are_aggregated() {
        assert_eq!(of("collection_min", "list<text>", &["b", "a", "c"]), "'a'");
        assert_eq!(of("collection_max", "set<int>", &["1", "-5", "3"]), "3");
        assert_eq!(of("collection_sum", "list<tinyint>", &["100", "100"]), "-56");
        assert_eq!(of("collection_avg", "list<int>", &["1", "2"]), "1");
        assert_eq!(of("collection_avg", "list<double>", &["1", "2"]), "1.5");
        assert_eq!(of("collection_sum", "list<int>", &[]), "0");
        assert_eq!(of("collection_max", "list<int>", &[]), "null");
    }

    #[test]
    fn other_values_are_refused() {
        let message = |name, ty: &str| {
            let ty = CqlType::parse(ty).unwrap();
            let error = make(name, &[Argument::Typed(&ty)], None).unwrap().unwrap_err();
            error.message(&|_| "x".to_owned())
        };
        assert_eq!(
            message("map_keys", "list<int>"),
            "Function system.map_keys requires a map argument, but found argument x of type list<int>"
        );
        assert_eq!(
            message("collection_sum", "set<text>"),
            "Function system.collection_sum requires a numeric set/list argument, but found argument x of type set<text>"
        );
        let error = make("map_keys", &[], None).unwrap().unwrap_err();
        assert_eq!(error.message(&|_| String::new()), "Invalid number of arguments for function system.map_keys(map)");
        let error = make("map_keys", &[Argument::Marker], None).unwrap().unwrap_err();
        assert_eq!(
            error.message(&|_| "?".to_owned()),
            "Cannot infer type of argument ? in call to function system.map_keys(map): use type casts to disambiguate"
        );
    }
}
