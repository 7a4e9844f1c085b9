//! Clusters of real processes: nodes find each other by their seeds, agree on the schema, and keep out those that must not be of the cluster.
//!
//! Each test has addresses of its own on loopback, so tests run beside each other. They wait for conditions and for lines of logs, never for a time.

mod agreement;
mod command;
mod copies;
mod datacenters;
mod endpoints;
mod events;
mod founding;
mod hints;
mod hostile;
mod jepsen;
mod kills;
mod leaving;
mod liveness;
mod logins;
mod majority;
mod meeting;
mod moving;
mod nodes;
mod operations;
mod peers;
mod recovery;
mod refresh;
mod repair;
mod replication;
mod snitch;
mod stressed;
mod tls;
mod traces;
