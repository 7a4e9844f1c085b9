//! Roles and permissions as a node shows them: the tables of `system_auth`, and LIST.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use runtime::Runtime;

use super::login::{PASSWORD, PATIENCE, SUPERUSER};
use super::model;
use crate::client::{Client, ClientError, Row};

const PAGE_ROWS: i32 = 500;
const ROLES: &str = "SELECT role, can_login, salted_hash FROM system_auth.roles";
const MEMBERS: &str = "SELECT role, member FROM system_auth.role_members";
const PERMISSIONS: &str = "LIST ALL PERMISSIONS";

/// The facts of one node about the roles of clients, each as [`model::Model::facts`] writes it.
pub async fn look(runtime: Runtime, address: SocketAddr) -> Result<BTreeSet<String>, String> {
    let looking = async {
        let mut client = Client::log_in(&runtime, address, SUPERUSER, PASSWORD).await?;
        let mut facts = BTreeSet::new();
        for row in client.rows(ROLES, PAGE_ROWS).await? {
            let login = row.get(1).and_then(Option::as_deref) == Some(&[1][..]);
            let hash = row.get(2).and_then(Option::as_deref).map_or_else(|| "null".to_owned(), text_of);
            facts.insert(model::role_fact(&text(&row, 0), login, &hash));
        }
        for row in client.rows(MEMBERS, PAGE_ROWS).await? {
            facts.insert(model::member_fact(&text(&row, 0), &text(&row, 1)));
        }
        // Role, user, resource and permission.
        for row in client.rows(PERMISSIONS, PAGE_ROWS).await? {
            facts.insert(model::grant_fact(&text(&row, 0), &text(&row, 3), &text(&row, 2)));
        }
        Ok::<_, ClientError>(facts)
    };
    match runtime.timeout(PATIENCE, looking).await {
        Ok(Ok(facts)) => Ok(facts),
        Ok(Err(error)) => Err(error.to_string()),
        Err(elapsed) => Err(elapsed.to_string()),
    }
}

fn text(row: &Row, at: usize) -> String {
    row.get(at).and_then(Option::as_deref).map(text_of).unwrap_or_default()
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
