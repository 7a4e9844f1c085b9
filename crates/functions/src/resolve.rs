//! From a name and what is known of the arguments to a call: Cassandra's `FunctionResolver`.
//!
//! Some names have a list of functions, of which the one is chosen that the arguments fit best. The others make a function of
//! the arguments' types (`parameter.rs`): those of collections, vectors and masks.

use cql_types::CqlType;

use crate::argument::fit_of_type;
use crate::number::NUMERIC_TYPES;
use crate::{
    Argument, Call, Fit, Operator, ResolveError, arithmetic, blobs, casts, collections, json, masks, math, time,
    vectors,
};

/// The scalar function that a call is. `keyspace` is the one written before the name, `receiver` the type of the place that takes
/// the value, if it has one (a selection has none). `token` is resolved by [`token`], since it depends on the table.
pub fn resolve(
    keyspace: Option<&str>,
    name: &str,
    arguments: &[Argument<'_>],
    receiver: Option<&CqlType>,
) -> Result<Call, ResolveError> {
    if let Some(keyspace) = keyspace.filter(|keyspace| *keyspace != "system") {
        return Err(ResolveError::Unknown { name: format!("{keyspace}.{name}") });
    }
    let unknown = || ResolveError::Unknown {
        name: keyspace.map_or_else(|| name.to_owned(), |keyspace| format!("{keyspace}.{name}")),
    };
    if let Some(made) = made(name, arguments, receiver) {
        return made;
    }
    let called = keyspace.map_or_else(|| name.to_owned(), |keyspace| format!("{keyspace}.{name}"));
    choose(&called, name, overloads(name).ok_or_else(unknown)?, arguments, receiver)
}

/// A function that is made of its arguments' types, if the name is that of one.
fn made(name: &str, arguments: &[Argument<'_>], receiver: Option<&CqlType>) -> Option<Result<Call, ResolveError>> {
    collections::make(name, arguments, receiver)
        .or_else(|| masks::make(name, arguments, receiver))
        .or_else(|| vectors::make(name, arguments, receiver))
        .or_else(|| json::make(name, arguments, receiver))
}

/// Whether a function of that name is made of its arguments' types: as an argument of another call it fits every parameter,
/// but exactly none.
pub fn is_made(name: &str) -> bool {
    made(name, &[], None).is_some() || matches!(name, "token" | "min" | "max")
}

/// The functions of a name.
fn overloads(name: &str) -> Option<Vec<Call>> {
    time::overloads(name)
        .or_else(|| math::overloads(name))
        .or_else(|| blobs::overloads(name))
        .or_else(|| casts::overloads(name))
}

/// Of functions of one name the one that the arguments fit.
fn choose(
    called: &str,
    name: &str,
    mut overloads: Vec<Call>,
    arguments: &[Argument<'_>],
    receiver: Option<&CqlType>,
) -> Result<Call, ResolveError> {
    let shown = format!("system.{name}");
    if let [only] = &overloads[..] {
        check_arguments(&shown, only.arguments(), arguments)?;
        return Ok(overloads.remove(0));
    }
    let signatures: Vec<Signature<'_>> = overloads.iter().map(|call| (call.arguments(), call.returns())).collect();
    let index = pick(called, name, &signatures, arguments, receiver)?;
    Ok(overloads.swap_remove(index))
}

/// Which of a name's functions the arguments fit.
fn pick(
    called: &str,
    name: &str,
    signatures: &[Signature<'_>],
    arguments: &[Argument<'_>],
    receiver: Option<&CqlType>,
) -> Result<usize, ResolveError> {
    let shown = format!("system.{name}");
    let signed = |indices: &[usize]| {
        let all: Vec<String> = indices.iter().map(|index| signature(&shown, signatures[*index])).collect();
        all.join(", ")
    };
    // The function is named as it was called, and its signatures with their keyspace.
    match fitting(signatures, arguments, receiver) {
        Fitting::One(index) => Ok(index),
        Fitting::None => {
            let known = signed(&(0..signatures.len()).collect::<Vec<_>>());
            Err(ResolveError::invalid(format!(
                "Invalid call to function {called}, none of its type signatures match (known type signatures: {known})"
            )))
        }
        Fitting::Several(indices) => Err(ResolveError::invalid(format!(
            "Ambiguous call to function {called} (can be matched by following signatures: {}): use type casts to disambiguate",
            signed(&indices)
        ))),
    }
}

/// Of functions that take one value of a type and give one of it, the type of the one that the arguments fit.
pub(crate) fn choose_types(name: &str, types: &[CqlType], arguments: &[Argument<'_>]) -> Result<CqlType, ResolveError> {
    let signatures: Vec<Signature<'_>> = types.iter().map(|ty| (std::slice::from_ref(ty), ty)).collect();
    pick(name, name, &signatures, arguments, None).map(|index| types[index].clone())
}

/// A function's arguments' types and that of its value.
pub(crate) type Signature<'a> = (&'a [CqlType], &'a CqlType);

/// A function as messages show it.
fn signature(name: &str, (arguments, returns): Signature<'_>) -> String {
    let arguments: Vec<String> = arguments.iter().map(CqlType::to_string).collect();
    format!("{name} : ({}) -> {returns}", arguments.join(", "))
}

/// How many of several functions fit.
enum Fitting {
    None,
    One(usize),
    Several(Vec<usize>),
}

/// Of several functions the one that all arguments fit exactly, or else those that they fit. The value must fit its place.
fn fitting(signatures: &[Signature<'_>], arguments: &[Argument<'_>], receiver: Option<&CqlType>) -> Fitting {
    let mut fitting = Vec::new();
    for (index, (types, returns)) in signatures.iter().enumerate() {
        if receiver.is_some_and(|receiver| !fit_of_type(returns, receiver).is_assignable())
            || types.len() != arguments.len()
        {
            continue;
        }
        match arguments.iter().zip(*types).map(|(argument, ty)| argument.fit(ty)).min() {
            None | Some(Fit::Exact) => return Fitting::One(index),
            Some(Fit::Weak) => fitting.push(index),
            Some(Fit::No) => {}
        }
    }
    match fitting[..] {
        [] => Fitting::None,
        [one] => Fitting::One(one),
        _ => Fitting::Several(fitting),
    }
}

/// Refuses arguments that do not fit the only function of a name.
pub(crate) fn check_arguments(shown: &str, types: &[CqlType], arguments: &[Argument<'_>]) -> Result<(), ResolveError> {
    if types.len() != arguments.len() {
        return Err(ResolveError::invalid(format!(
            "Invalid number of arguments in call to function {shown}: {} required but {} provided",
            types.len(),
            arguments.len()
        )));
    }
    for (index, (argument, ty)) in arguments.iter().zip(types).enumerate() {
        if !argument.fit(ty).is_assignable() {
            let after = format!(" cannot be passed as argument {index} of function {shown} of type {ty}");
            return Err(ResolveError::argument("Type error: ", index, after));
        }
    }
    Ok(())
}

/// `token(…)` of the table whose partition key has these columns.
pub fn token(key: &[CqlType], arguments: &[Argument<'_>]) -> Result<Call, ResolveError> {
    check_arguments("system.token", key, arguments)?;
    Ok(Call::new("token", key.to_vec(), CqlType::Bigint, crate::token::Token).seeing_nulls())
}

/// CAST(… AS type), of the type and its name as it is written: a value of the type itself is left as it is. The function is chosen by the
/// name, so that there is none for `varchar`.
pub fn cast(from: &CqlType, to: &CqlType, written: &str) -> Result<Call, ResolveError> {
    if from == to {
        return Ok(casts::same(to.clone()));
    }
    let written = written.to_ascii_lowercase();
    let name = format!("cast_as_{written}");
    let refused = || ResolveError::argument("", 0, format!(" cannot be cast to {written}"));
    let overloads = casts::overloads(&name).ok_or_else(refused)?;
    let called = format!("system.{name}");
    choose(&called, &name, overloads, &[Argument::Typed(from)], Some(to))
}

/// The call that an operator between two arguments is. `receiver` is the type of the place that takes the value, if it has one.
pub fn operator(
    op: Operator,
    left: &Argument<'_>,
    right: &Argument<'_>,
    receiver: Option<&CqlType>,
) -> Result<Call, ResolveError> {
    // Types by their index, and each argument asked once for each: a long sum asks this for each of its operators.
    let types = &arithmetic::OPERAND_TYPES;
    let left_fits = types.each_ref().map(|ty| left.fit(ty));
    let right_fits = types.each_ref().map(|ty| right.fit(ty));
    let is_taken = types.each_ref().map(|ty| receiver.is_none_or(|receiver| fit_of_type(ty, receiver).is_assignable()));
    let mut fitting: Vec<(usize, usize)> = Vec::new();
    'pairs: for (a, left_fit) in left_fits.into_iter().enumerate() {
        for (b, right_fit) in right_fits.into_iter().enumerate() {
            match left_fit.min(right_fit) {
                Fit::No => {}
                _ if !arithmetic::returns(op, a, b).is_some_and(|returns| is_taken[returns]) => {}
                Fit::Exact => {
                    fitting = vec![(a, b)];
                    break 'pairs;
                }
                Fit::Weak => fitting.push((a, b)),
            }
        }
    }
    if fitting.len() > 1 {
        // What the place takes decides, unless something may be of any type.
        let is_marker = |argument: &Argument<'_>| matches!(argument, Argument::Marker);
        let both = receiver.filter(|_| !is_marker(left) && !is_marker(right));
        fitting.retain(|(a, b)| Some(&types[*a]) == both && Some(&types[*b]) == both);
        if fitting.is_empty() {
            return Err(ResolveError::Ambiguous { operator: op.symbol() });
        }
    }
    let (a, b) = fitting.pop().ok_or(ResolveError::Operands { operator: op.symbol() })?;
    Ok(arithmetic::call(op, a, b).expect("it has a type"))
}

/// The call that a minus before an argument is.
pub fn negation(argument: &Argument<'_>, receiver: Option<&CqlType>) -> Result<Call, ResolveError> {
    let mut fitting = Vec::new();
    for ty in &NUMERIC_TYPES {
        if receiver.is_some_and(|receiver| !fit_of_type(ty, receiver).is_assignable()) {
            continue;
        }
        match argument.fit(ty) {
            Fit::Exact => return Ok(arithmetic::negation(ty.clone())),
            Fit::Weak => fitting.push(ty),
            Fit::No => {}
        }
    }
    match fitting[..] {
        [ty] => Ok(arithmetic::negation(ty.clone())),
        [] => {
            let known = NUMERIC_TYPES.map(|ty| signature("system.\"_negate\"", (std::slice::from_ref(&ty), &ty)));
            Err(ResolveError::invalid(format!(
                "Invalid call to function system._negate, none of its type signatures match (known type signatures: {})",
                known.join(", ")
            )))
        }
        _ => Err(ResolveError::invalid("Ambiguous negation: use type casts to disambiguate")),
    }
}
