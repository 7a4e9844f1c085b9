//! The driver with a password, with a wrong one, and with none.

use helenus_tests::{Builder, Server};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;

/// The hash of [`PASSWORD`].
const HASH: &str = "$2b$04$abcdefghijklmnopqrstuuzzjWYX9ziq/z9PGEfqaY.69BPe06tMC";
const PASSWORD: &str = "a password of the tests";

async fn connect(server: &Server, password: Option<&str>) -> Result<Session, String> {
    let builder = SessionBuilder::new().known_node(server.address());
    let builder = match password {
        Some(password) => builder.user("admin", password),
        None => builder,
    };
    builder.build().await.map_err(|error| format!("{error:?}"))
}

#[test]
fn a_client_with_a_password_is_served_and_others_are_not() {
    let arguments = [
        "--authenticator",
        "PasswordAuthenticator",
        "--auth-superuser-name",
        "admin",
        "--auth-superuser-salted-password",
        HASH,
    ];
    let server = Builder::new("uring", 2).with(&arguments).start();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let session = connect(&server, Some(PASSWORD)).await.expect("the password is right");
        let rows = session.query_unpaged("SELECT username FROM system_views.clients", ()).await.expect("is read");
        let rows = rows.into_rows_result().expect("rows");
        let names: Vec<String> = rows.rows::<(String,)>().expect("texts").map(|row| row.expect("a text").0).collect();
        assert!(!names.is_empty() && names.iter().all(|name| name == "admin"), "{names:?}");
        let wrong = connect(&server, Some("wrong")).await.map(drop).expect_err("the password is wrong");
        assert!(wrong.contains("Provided username admin and/or password are incorrect"), "{wrong}");
        connect(&server, None).await.map(drop).expect_err("there is no password");
    });
    server.stop();
}
