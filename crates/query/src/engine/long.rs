//! What long values and long results need so that no poll is long: memory that was touched before it is filled, and texts that are
//! checked piece by piece.

use cluster::coordinator::ReplicaError;
use cql_protocol::Value;
use cql_types::CqlType;

use super::Engine;
use crate::error::{QueryError, invalid};
use crate::plan::{LONG_TEXT_MIN, Marker, Modification};

/// What is checked before the clock is asked.
const BYTES_PER_STEP: usize = 64 << 10;
/// Values of fewer bytes are copied to memory as it comes.
const LONG_VALUES: usize = 256 << 10;

impl Engine {
    /// The buffer for a mutation of `values`, and of the constants that the statement sets. What no record of the log may hold is refused
    /// before it is copied.
    pub(super) async fn mutation_buffer(
        &self,
        values: &[Value<'_>],
        modification: &Modification,
    ) -> Result<Vec<u8>, ReplicaError> {
        /// What a mutation has beside its values, but for one of very many columns.
        const OVERHEAD: usize = 4 << 10;
        let bytes: usize = values.iter().filter_map(|value| value.bytes()).map(<[u8]>::len).sum();
        let set = modification.statics.iter().chain(&modification.regulars);
        let bytes = bytes + set.map(|assignment| assignment.operand.bytes()).sum::<usize>();
        if bytes <= LONG_VALUES {
            return Ok(Vec::with_capacity(256));
        }
        let max = self.inner.coordinator.storage().mutation_bytes_max();
        if bytes > max {
            return Err(ReplicaError::TooLarge { size: bytes, max });
        }
        Ok(self.inner.runtime.touched(bytes + OVERHEAD).await)
    }

    /// Checks long texts among the values; they are not checked again then.
    pub(super) async fn check_long_texts(&self, markers: &[Marker], values: &[Value<'_>]) -> Result<(), QueryError> {
        for (marker, value) in markers.iter().zip(values) {
            let (CqlType::Text, Value::Bytes(bytes)) = (&marker.ty, value) else { continue };
            if bytes.len() > LONG_TEXT_MIN {
                self.check_long_text(bytes).await?;
            }
        }
        Ok(())
    }

    async fn check_long_text(&self, mut bytes: &[u8]) -> Result<(), QueryError> {
        while !bytes.is_empty() {
            let (piece, _) = bytes.split_at(bytes.len().min(BYTES_PER_STEP));
            let checked = match std::str::from_utf8(piece) {
                Ok(_) => piece.len(),
                // The piece may end in the middle of a character; the text may not.
                Err(error) if error.error_len().is_none() && piece.len() < bytes.len() => error.valid_up_to(),
                Err(_) => {
                    // The error is the one that a short text gets.
                    let refused = cql_types::validate(&CqlType::Text, piece);
                    let message =
                        refused.map_or_else(|error| error.to_string(), |()| "String didn't validate.".to_owned());
                    return Err(invalid(message));
                }
            };
            bytes = bytes.get(checked..).unwrap_or_default();
            self.inner.runtime.maybe_yield().await;
        }
        Ok(())
    }
}
