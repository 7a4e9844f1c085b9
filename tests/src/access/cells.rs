//! Cells: the grants that each statement is tried with, and the roles that they are given to.

/// The role that tries the statements, and its password.
pub const USER: &str = "amy";
/// A superuser, and its password.
pub const CHIEF: &str = "chief";

/// Roles around the user, and what makes them what they are.
pub const ROLES: [&str; 10] = [
    "CREATE ROLE amy WITH LOGIN = true AND PASSWORD = 'amy'",
    "CREATE ROLE team",
    "CREATE ROLE crew",
    "CREATE ROLE heir",
    "CREATE ROLE former",
    "GRANT team TO amy",
    "GRANT crew TO team",
    "GRANT amy TO heir",
    "GRANT former TO amy",
    "REVOKE former FROM amy",
];

/// A way of granting: its name, and the role that the permission is granted to.
///
/// `direct`, `role` and `nested` count. `member` does not, since that role inherits the user and not the other way round; nor does `former`, which the user was
/// a member of.
pub const WAYS: [(&str, &str); 5] =
    [("direct", USER), ("role", "team"), ("nested", "crew"), ("member", "heir"), ("former", "former")];

/// Levels that each statement is tried with: roots, and neighbours of what it is about.
const NEIGHBOURS: [&str; 8] =
    ["data", "data/other", "data/ks/u", "roles", "roles/another", "functions", "functions/ks", "mbean"];

/// A permission on a level.
pub type Grant = (String, String);

/// All grants that a statement about these resources is tried with.
pub fn grants(resources: &[String]) -> Vec<Grant> {
    let mut levels: Vec<String> = resources.iter().flat_map(|resource| chain(resource)).collect();
    levels.extend(NEIGHBOURS.iter().map(|level| (*level).to_string()));
    levels.sort_unstable();
    levels.dedup();
    let with_permissions = |level: &String| {
        permissions(level).iter().map(|permission| ((*permission).to_string(), level.clone())).collect::<Vec<_>>()
    };
    levels.iter().flat_map(with_permissions).collect()
}

/// A resource and those above it.
fn chain(resource: &str) -> Vec<String> {
    let parts: Vec<&str> = resource.split('/').collect();
    let mut levels: Vec<String> = (1..=parts.len()).map(|count| parts[..count].join("/")).collect();
    if parts[0] == "data" && parts.len() > 1 {
        levels.push(format!("data/{}/*", parts[1]));
    }
    levels
}

/// The permissions that can be granted on a level, in Cassandra's order.
fn permissions(level: &str) -> &'static [&'static str] {
    let parts: Vec<&str> = level.split('/').collect();
    match parts[..] {
        // Hers are the only ones that may be granted in system keyspaces.
        ["data", keyspace, ..] if keyspace.starts_with("system") => &["ALTER", "SELECT"],
        ["data", _, table] if table != "*" => {
            &["ALTER", "DROP", "SELECT", "MODIFY", "AUTHORIZE", "UNMASK", "SELECT_MASKED"]
        }
        ["data", ..] => &["CREATE", "ALTER", "DROP", "SELECT", "MODIFY", "AUTHORIZE", "UNMASK", "SELECT_MASKED"],
        ["roles"] => &["CREATE", "ALTER", "DROP", "AUTHORIZE", "DESCRIBE"],
        ["roles", _] => &["ALTER", "DROP", "AUTHORIZE", "DESCRIBE"],
        ["functions"] | ["functions", _] => &["CREATE", "ALTER", "DROP", "AUTHORIZE", "EXECUTE"],
        ["functions", ..] => &["ALTER", "DROP", "AUTHORIZE", "EXECUTE"],
        _ => &["SELECT", "MODIFY", "AUTHORIZE", "DESCRIBE", "EXECUTE"],
    }
}

/// A level as GRANT names it.
pub fn in_cql(level: &str) -> String {
    let parts: Vec<&str> = level.split('/').collect();
    match parts[..] {
        ["data"] => "ALL KEYSPACES".into(),
        ["data", keyspace] => format!("KEYSPACE {keyspace}"),
        ["data", keyspace, "*"] => format!("ALL TABLES IN KEYSPACE {keyspace}"),
        ["data", keyspace, table] => format!("TABLE {keyspace}.{table}"),
        ["roles"] => "ALL ROLES".into(),
        ["roles", role] => format!("ROLE {role}"),
        ["functions"] => "ALL FUNCTIONS".into(),
        ["functions", keyspace] => format!("ALL FUNCTIONS IN KEYSPACE {keyspace}"),
        ["functions", keyspace, function] => {
            format!("FUNCTION {keyspace}.{}", function.replace('[', "(").replace(']', ")"))
        }
        _ => "ALL MBEANS".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_tried_with_its_chain_and_neighbours() {
        let grants = grants(&["data/ks/t".into()]);
        let levels = |permission: &str| -> Vec<String> {
            grants.iter().filter(|(found, _)| found == permission).map(|(_, level)| level.clone()).collect()
        };
        assert_eq!(levels("DROP")[..6], ["data", "data/ks", "data/ks/*", "data/ks/t", "data/ks/u", "data/other"]);
        assert_eq!(
            levels("CREATE"),
            ["data", "data/ks", "data/ks/*", "data/other", "functions", "functions/ks", "roles"]
        );
    }

    #[test]
    fn levels_are_named_in_cql() {
        assert_eq!(in_cql("functions/ks/f[int,int]"), "FUNCTION ks.f(int,int)");
        assert_eq!(in_cql("data/ks/*"), "ALL TABLES IN KEYSPACE ks");
    }
}
