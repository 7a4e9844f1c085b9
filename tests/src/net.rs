//! The addresses of a cluster's nodes in a test.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::server::{Builder, free_port};

/// The addresses of a test's nodes: no other test that runs beside it has one of them.
pub struct Net {
    prefix: String,
    storage_port: u16,
    native_port: u16,
    api_port: u16,
}

impl Default for Net {
    fn default() -> Net {
        Net::new()
    }
}

impl Net {
    /// Addresses in no other use.
    pub fn new() -> Net {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        let process = std::process::id();
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let prefix = format!("127.{}.{}", 10 + process % 200, (process / 200) as u8 ^ number);
            let (storage_port, native_port, api_port) = (free_port(), free_port(), free_port());
            let net = Net { prefix, storage_port, native_port, api_port };
            let differ = storage_port != native_port && native_port != api_port && api_port != storage_port;
            if differ && TcpListener::bind((net.address(1), net.storage_port)).is_ok() {
                return net;
            }
        }
    }

    /// Where the node with this number is, for clients and for other nodes.
    pub fn address(&self, number: u8) -> String {
        format!("{}.{number}", self.prefix)
    }

    /// The first three parts of the addresses.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Ports for clients, for other nodes and for the admin API.
    pub fn ports(&self) -> [u16; 3] {
        [self.native_port, self.storage_port, self.api_port]
    }

    /// A new node, with the nodes of these numbers as its seeds.
    pub fn node(&self, number: u8, seeds: &[u8]) -> Builder {
        self.node_at(number, Builder::new("auto", 1), seeds)
    }

    /// A node that moves: one with a data folder, at the address of this number.
    pub fn node_at(&self, number: u8, node: Builder, seeds: &[u8]) -> Builder {
        let seeds: Vec<String> = seeds.iter().map(|seed| self.address(*seed)).collect();
        self.with_seeds(number, node, &seeds.join(","))
    }

    /// The same with seeds of several nets.
    pub fn with_seeds(&self, number: u8, node: Builder, seeds: &str) -> Builder {
        let address = self.address(number);
        let node = node.listening_on(&address).on_ports(self.native_port, 0).on_storage_port(self.storage_port);
        node.with_only(&["--listen-address", &address, "--seeds", seeds, "--memory", "256M"])
    }

    /// The address of a node between nodes.
    pub fn seed(&self, number: u8) -> String {
        format!("{}:{}", self.address(number), self.storage_port)
    }
}
