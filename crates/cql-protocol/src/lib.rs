//! The CQL native protocol: frames, segments, requests and responses, in both directions.
