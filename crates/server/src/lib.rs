//! Listeners, connections, limits and event push.
