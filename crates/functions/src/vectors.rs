//! How similar two vectors of floats are, from 0 to 1 (the dot product of vectors that are not normal may leave that).

use cql_types::CqlType;

use crate::call::Body;
use crate::parameter::{self, Parameter};
use crate::{Argument, Call, Context, FunctionError, ResolveError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Similarity {
    Cosine,
    Euclidean,
    DotProduct,
}

/// The function of a name for such arguments.
pub(crate) fn make(
    name: &str,
    arguments: &[Argument<'_>],
    receiver: Option<&CqlType>,
) -> Option<Result<Call, ResolveError>> {
    let similarity = match name {
        "similarity_cosine" => Similarity::Cosine,
        "similarity_euclidean" => Similarity::Euclidean,
        "similarity_dot_product" => Similarity::DotProduct,
        _ => return None,
    };
    // Each takes the other's type if it has none.
    let same_as =
        |index| Parameter::SameAs { index, prefers_other: false, otherwise: Box::new(Parameter::FloatVector) };
    let types = parameter::infer(name, &[same_as(1), same_as(0)], arguments, receiver);
    Some(types.and_then(|types| {
        if types[0] != types[1] {
            return Err(ResolveError::invalid("All arguments must have the same vector dimensions"));
        }
        let body = Similar { name: format!("system.{name}"), similarity };
        Ok(Call::new(name, types, CqlType::Float, body))
    }))
}

#[derive(Debug)]
struct Similar {
    name: String,
    similarity: Similarity,
}

impl Body for Similar {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let [Some(left), Some(right)] = arguments else { return Ok(false) };
        let pairs = || floats(left).zip(floats(right));
        let sum = |of: &dyn Fn(f32, f32) -> f32| pairs().fold(0.0_f32, |sum, (a, b)| sum + of(a, b));
        let similarity = match self.similarity {
            Similarity::Cosine => {
                if floats(left).all(|float| float == 0.0) || floats(right).all(|float| float == 0.0) {
                    return Err(FunctionError::invalid(format!(
                        "Function {} doesn't support all-zero vectors.",
                        self.name
                    )));
                }
                let norms = sum(&|a, _| a * a) * sum(&|_, b| b * b);
                let cosine = (f64::from(sum(&|a, b| a * b)) / f64::from(norms).sqrt()) as f32;
                (1.0 + cosine) / 2.0
            }
            Similarity::Euclidean => 1.0 / (1.0 + sum(&|a, b| (a - b) * (a - b))),
            Similarity::DotProduct => (1.0 + sum(&|a, b| a * b)) / 2.0,
        };
        out.extend_from_slice(&similarity.to_be_bytes());
        Ok(true)
    }
}

fn floats(vector: &[u8]) -> impl Iterator<Item = f32> {
    vector.as_chunks::<4>().0.iter().map(|float| f32::from_be_bytes(*float))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Nothing;

    fn of(name: &str, left: &[f32], right: &[f32]) -> Result<f32, String> {
        let vector = |floats: &[f32]| floats.iter().flat_map(|float| float.to_be_bytes()).collect::<Vec<_>>();
        let ty = |floats: &[f32]| CqlType::Vector { element: Box::new(CqlType::Float), dimension: floats.len() as u32 };
        let (left_type, right_type) = (ty(left), ty(right));
        let arguments = [Argument::Typed(&left_type), Argument::Typed(&right_type)];
        let call = make(name, &arguments, None).unwrap().map_err(|error| error.message(&|_| "x".to_owned()))?;
        let mut out = Vec::new();
        call.evaluate(&[Some(&vector(left)), Some(&vector(right))], &mut Nothing, &mut out)
            .map_err(|error| error.to_string())?;
        Ok(f32::from_be_bytes(out.try_into().unwrap()))
    }

    #[test]
    fn vectors_are_compared() {
        assert_eq!(of("similarity_cosine", &[1.0, 0.0], &[0.0, 1.0]), Ok(0.5));
        assert_eq!(of("similarity_cosine", &[1.0, 2.0], &[2.0, 4.0]), Ok(1.0));
        assert_eq!(of("similarity_euclidean", &[0.0, 0.0], &[0.0, 2.0]), Ok(0.2));
        assert_eq!(of("similarity_dot_product", &[1.0, 2.0], &[3.0, 4.0]), Ok(6.0));
        assert_eq!(
            of("similarity_cosine", &[0.0], &[1.0]),
            Err("Function system.similarity_cosine doesn't support all-zero vectors.".to_owned())
        );
        assert_eq!(
            of("similarity_cosine", &[0.0], &[1.0, 2.0]),
            Err("All arguments must have the same vector dimensions".to_owned())
        );
    }

    #[test]
    fn only_vectors_of_floats_are_compared() {
        let arguments = [Argument::Typed(&CqlType::Int), Argument::Typed(&CqlType::Int)];
        let error = make("similarity_cosine", &arguments, None).unwrap().unwrap_err();
        assert_eq!(
            error.message(&|_| "k".to_owned()),
            "Function system.similarity_cosine requires a float vector argument, but found argument k of type int"
        );
    }
}
