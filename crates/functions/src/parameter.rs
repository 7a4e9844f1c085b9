//! Parameters of functions that are made of their arguments' types: Cassandra's `FunctionParameter` and `FunctionFactory`.

use cql_types::CqlType;

use crate::number::is_numeric;
use crate::{Argument, Fit, ResolveError};

/// What a parameter takes.
#[derive(Debug, Clone)]
pub(crate) enum Parameter {
    /// A value of one of these types; one of no type is of the first. The name is what messages call it.
    Fixed(&'static [CqlType], &'static str),
    /// Any value. One of no type may be of the receiver's.
    Any { from_receiver: bool },
    /// What another parameter takes, with its type if that is known and preferred, or if the argument has none.
    SameAs { index: usize, prefers_other: bool, otherwise: Box<Parameter> },
    /// A list, set or map.
    Collection,
    /// A list or set.
    SetOrList,
    /// A list or set of numbers.
    NumericSetOrList,
    /// A map.
    Map,
    /// A vector of floats.
    FloatVector,
    /// What may be left out, as all behind it.
    Optional(Box<Parameter>),
}

impl Parameter {
    fn is_optional(&self) -> bool {
        matches!(self, Parameter::Optional(_))
    }

    /// The argument's type, as far as it is known; `others` are those of the other arguments.
    fn infer(
        &self,
        argument: &Argument<'_>,
        receiver: Option<&CqlType>,
        others: Option<&[Option<CqlType>]>,
    ) -> Option<CqlType> {
        let other = |index: usize| others.and_then(|others| others.get(index)?.clone());
        match self {
            Parameter::Fixed(types, _) => argument.natural_type().or_else(|| types.first().cloned()),
            Parameter::Any { from_receiver } => {
                argument.natural_type().or_else(|| receiver.filter(|_| *from_receiver).cloned())
            }
            Parameter::SameAs { index, prefers_other: true, otherwise } => {
                other(*index).or_else(|| otherwise.infer(argument, receiver, others))
            }
            Parameter::SameAs { index, otherwise, .. } => {
                otherwise.infer(argument, receiver, others).or_else(|| other(*index))
            }
            Parameter::FloatVector => match argument.list_len().and_then(|len| u32::try_from(len).ok()) {
                Some(dimension) => Some(CqlType::Vector { element: Box::new(CqlType::Float), dimension }),
                None => argument.natural_type().or_else(|| receiver.cloned()),
            },
            Parameter::Optional(parameter) => parameter.infer(argument, receiver, others),
            _ => argument.natural_type(),
        }
    }

    /// Refuses a type that it does not take. The sentence misses the argument.
    fn check(&self, ty: &CqlType) -> Result<(), String> {
        let refuse = |is_taken: bool, what: String| if is_taken { Ok(()) } else { Err(what) };
        match self {
            Parameter::Fixed(types, shown) => refuse(
                types.iter().any(|wanted| crate::argument::fit_of_type(ty, wanted) != Fit::No),
                format!("an argument of type {shown}"),
            ),
            Parameter::Any { .. } => Ok(()),
            Parameter::SameAs { otherwise, .. } => otherwise.check(ty),
            Parameter::Collection => refuse(ty.is_collection(), "a collection argument".to_owned()),
            Parameter::SetOrList => {
                refuse(matches!(ty, CqlType::List { .. } | CqlType::Set { .. }), "a set or list argument".to_owned())
            }
            Parameter::NumericSetOrList => {
                let is_taken = match ty {
                    CqlType::List { element, .. } | CqlType::Set { element, .. } => is_numeric(element),
                    _ => false,
                };
                refuse(is_taken, "a numeric set/list argument".to_owned())
            }
            Parameter::Map => refuse(matches!(ty, CqlType::Map { .. }), "a map argument".to_owned()),
            Parameter::FloatVector => {
                let is_taken = matches!(ty, CqlType::Vector { element, .. } if **element == CqlType::Float);
                refuse(is_taken, "a float vector argument".to_owned())
            }
            Parameter::Optional(parameter) => parameter.check(ty),
        }
    }

    /// As the sentence about a wrong call shows it.
    fn shown(&self) -> String {
        match self {
            Parameter::Fixed(_, shown) => (*shown).to_owned(),
            Parameter::Any { .. } => "any".to_owned(),
            Parameter::SameAs { otherwise, .. } => otherwise.shown(),
            Parameter::Collection => "collection".to_owned(),
            Parameter::SetOrList | Parameter::NumericSetOrList => "numeric_set_or_list".to_owned(),
            Parameter::Map => "map".to_owned(),
            Parameter::FloatVector => "vector<float, n>".to_owned(),
            Parameter::Optional(parameter) => format!("[{}]", parameter.shown()),
        }
    }
}

/// The types of a call's arguments.
pub(crate) fn infer(
    name: &str,
    parameters: &[Parameter],
    arguments: &[Argument<'_>],
    receiver: Option<&CqlType>,
) -> Result<Vec<CqlType>, ResolveError> {
    let shown = || {
        let parameters: Vec<String> = parameters.iter().map(Parameter::shown).collect();
        format!("system.{name}({})", parameters.join(", "))
    };
    let mandatory = parameters.iter().filter(|parameter| !parameter.is_optional()).count();
    if arguments.len() < mandatory || arguments.len() > parameters.len() {
        return Err(ResolveError::invalid(format!("Invalid number of arguments for function {}", shown())));
    }
    // Each alone first, then with what is known of the others.
    let each = || parameters.iter().zip(arguments);
    let mut types: Vec<Option<CqlType>> =
        each().map(|(parameter, argument)| parameter.infer(argument, receiver, None)).collect();
    for (index, (parameter, argument)) in each().enumerate() {
        let Some(ty) = parameter.infer(argument, receiver, Some(&types)) else {
            let after = format!(" in call to function {}: use type casts to disambiguate", shown());
            return Err(ResolveError::argument("Cannot infer type of argument ", index, after));
        };
        parameter.check(&ty).map_err(|wanted| {
            let before = format!("Function system.{name} requires {wanted}, but found argument ");
            ResolveError::argument(before, index, format!(" of type {ty}"))
        })?;
        types[index] = Some(ty);
    }
    Ok(types.into_iter().flatten().collect())
}
