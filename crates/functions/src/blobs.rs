//! Values of native types as blobs and back: `int_as_blob`, `blob_as_int`, and their names without underscores.

use cql_types::CqlType;

use crate::call::{AsItIs, Body};
use crate::{Call, Context, FunctionError};

/// The function of a name: each has but one.
pub(crate) fn overloads(name: &str) -> Option<Vec<Call>> {
    let to_blob = name.strip_suffix("_as_blob").or_else(|| name.strip_suffix("asblob"));
    if let Some(ty) = to_blob.and_then(native) {
        return Some(vec![Call::new(name, vec![ty], CqlType::Blob, AsItIs).seeing_nulls()]);
    }
    let from_blob = name.strip_prefix("blob_as_").or_else(|| name.strip_prefix("blobas"));
    let ty = from_blob.and_then(native)?;
    // The names of types have no capitals, and Cassandra names varchar's functions too.
    let type_name = if from_blob == Some("varchar") { "varchar".to_owned() } else { ty.to_string() };
    let body = FromBlob { name: format!("system.{name}"), ty: ty.clone(), type_name };
    Some(vec![Call::new(name, vec![CqlType::Blob], ty, body).seeing_nulls()])
}

fn native(name: &str) -> Option<CqlType> {
    let is_lower = !name.bytes().any(|byte| byte.is_ascii_uppercase());
    CqlType::native(name).filter(|ty| is_lower && *ty != CqlType::Blob)
}

#[derive(Debug)]
struct FromBlob {
    name: String,
    ty: CqlType,
    type_name: String,
}

impl Body for FromBlob {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let Some(value) = arguments.first().copied().flatten() else { return Ok(false) };
        if cql_types::validate(&self.ty, value).is_err() {
            let shown = cql_types::print(&CqlType::Blob, value);
            return Err(FunctionError::invalid(format!(
                "In call to function {}, value {shown} is not a valid binary representation for type {}",
                self.name, self.type_name
            )));
        }
        out.extend_from_slice(value);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::evaluated;

    #[test]
    fn bytes_stay_what_they_are() {
        for (name, ty, argument, expected) in [
            ("int_as_blob", "int", "5", "0x00000005"),
            ("textasblob", "text", "abc", "0x616263"),
            ("varcharasblob", "text", "abc", "0x616263"),
            ("blob_as_int", "blob", "0x00000005", "5"),
            ("blobasvarchar", "blob", "0x616263", "'abc'"),
            ("blob_as_duration", "blob", "0x020406", "1mo2d3ns"),
        ] {
            assert_eq!(evaluated(name, &[(ty, argument)]).unwrap(), expected, "{name}");
        }
        let error = evaluated("blobasint", &[("blob", "0x00")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "In call to function system.blobasint, value 0x00 is not a valid binary representation for type int"
        );
        assert!(super::overloads("blobasblob").is_none());
        assert!(super::overloads("blobas").is_none());
    }
}
