//! token(): the place of a partition key on the ring.

use crate::call::Body;
use crate::{Context, FunctionError};

#[derive(Debug)]
pub(crate) struct Token;

impl Body for Token {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        context: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let token = match arguments {
            [Some(only)] => context.token(only),
            _ => {
                // Several columns: each with its length before it and a zero behind it.
                let mut key = Vec::new();
                for argument in arguments {
                    let Some(column) = argument else { return Ok(false) };
                    let length = u16::try_from(column.len()).map_err(|_| {
                        FunctionError::invalid(format!(
                            "Key length of {} is longer than maximum of 65535",
                            column.len()
                        ))
                    })?;
                    key.extend_from_slice(&length.to_be_bytes());
                    key.extend_from_slice(column);
                    key.push(0);
                }
                context.token(&key)
            }
        };
        out.extend_from_slice(&token.to_be_bytes());
        Ok(true)
    }
}
