//! Files of a Cassandra 5.0.6: see `testdata/system_auth/README.md`.

use super::*;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/system_auth")
}

fn of<'v>(roles: &'v Value, list: &str, key: &str, name: &str) -> Vec<&'v Value> {
    let list = roles[list].as_array().expect("a list");
    list.iter().filter(|row| row[key] == name).collect()
}

#[test]
fn rows_are_as_the_server_saw_them_last() {
    let roles: Value = serde_json::from_str(&read_roles(&fixture()).expect("roles")).expect("JSON");
    let mut names: Vec<&str> =
        roles["roles"].as_array().expect("a list").iter().filter_map(|role| role["name"].as_str()).collect();
    names.sort_unstable();
    // `gone` was dropped, and `cassandra` has its default password.
    assert_eq!(names, ["ada", "lead", "local", "root", "team"]);
    assert_eq!(roles["left_out"][0]["name"], "cassandra");
    let ada = of(&roles, "roles", "name", "ada")[0];
    let hash = PasswordHash::parse(ada["hash"].as_str().expect("a hash")).expect("a hash");
    assert!(hash.is_of("ada-secret") && !hash.is_of("old-secret"));
    assert_eq!((&ada["can_login"], &ada["is_superuser"]), (&json!(true), &json!(false)));
    assert_eq!(ada["member_of"], json!(["lead"]));
    assert_eq!(of(&roles, "roles", "name", "lead")[0]["member_of"], json!(["team"]));
    assert_eq!(of(&roles, "roles", "name", "team")[0]["hash"], Value::Null);
    assert_eq!(of(&roles, "roles", "name", "root")[0]["is_superuser"], true);
    assert_eq!(of(&roles, "roles", "name", "local")[0]["datacenters"], json!(["datacenter1"]));
    let grants = |role: &str| -> Vec<(String, Value)> {
        let rows = of(&roles, "grants", "role", role).into_iter();
        rows.map(|row| (row["resource"].as_str().expect("a name").to_owned(), row["permissions"].clone())).collect()
    };
    assert_eq!(grants("lead"), [("data/shop/orders".to_owned(), json!(["MODIFY", "SELECT"]))]);
    assert_eq!(grants("team"), [("data/shop/orders".to_owned(), json!(["SELECT"]))]);
    assert_eq!(grants("ada"), [("roles/team".to_owned(), json!(["ALTER"]))]);
    assert_eq!(grants("gone"), []);
    assert_eq!(roles["identities"], json!([{"identity": "spiffe://shop/ada", "role": "ada"}]));
}

#[test]
fn a_folder_above_is_looked_into_and_one_without_roles_is_refused() {
    let data = std::env::temp_dir().join(format!("helenus-roles-{}", std::process::id()));
    let inner = data.join("data");
    std::fs::create_dir_all(&inner).expect("a folder");
    let refused = read_roles(&data).expect_err("there are no roles").to_string();
    assert!(refused.contains("no SSTables of system_auth.roles"), "{refused}");
    std::os::unix::fs::symlink(fixture(), inner.join("system_auth")).expect("a link");
    assert_eq!(read_roles(&data).expect("roles"), read_roles(&inner).expect("roles"));
    std::fs::remove_dir_all(&data).expect("it is removed");
}

#[test]
fn a_damaged_file_is_refused() {
    let folder = std::env::temp_dir().join(format!("helenus-damaged-roles-{}", std::process::id()));
    let roles = folder.join("roles");
    std::fs::create_dir_all(&roles).expect("a folder");
    for entry in std::fs::read_dir(fixture().join("roles-5bc52802de2535edaeab188eecebb090")).expect("the fixture") {
        let path = entry.expect("an entry").path();
        let mut bytes = std::fs::read(&path).expect("a file");
        if path.ends_with("nb-1-big-Data.db") {
            bytes[20] ^= 1;
        }
        std::fs::write(roles.join(path.file_name().expect("a name")), bytes).expect("it is written");
    }
    let refused = read_roles(&folder).expect_err("it is damaged").to_string();
    assert!(refused.contains("nb-1-big-") && refused.contains("damaged at byte"), "{refused}");
    std::fs::remove_dir_all(&folder).expect("it is removed");
}

#[test]
fn ranges_of_addresses_are_texts() {
    let value = [&[0, 0, 0, 4, 10, 0, 0, 0][..], &[0, 0, 0, 2, 0, 8]].concat();
    assert_eq!(range(&value).as_deref(), Some("10.0.0.0/8"));
    let six = [&[0, 0, 0, 16][..], &[0; 15], &[1, 0, 0, 0, 2, 0, 128]].concat();
    assert_eq!(range(&six).as_deref(), Some("::1/128"));
    (0..value.len()).for_each(|length| assert_eq!(range(&value[..length]), None));
}
