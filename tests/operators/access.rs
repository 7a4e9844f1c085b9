//! Operators of a node with an authenticator: Basic and nodetool's options, the console's cookie, and what stays open.

use helenus_tests::{Builder, HttpAnswer, Server, http, http_raw, http_with, nodetool};

const PATH: &str = "/storage_service/load";

/// A node that asks for logins, and the password of its first superuser.
fn start() -> (Server, String) {
    let builder = Builder::new("uring", 2).configured("authenticator: PasswordAuthenticator\n").for_operators();
    let data = builder.data();
    let server = builder.start();
    let text = std::fs::read_to_string(data.join("initial-superuser")).expect("the first superuser has a password");
    let password = text.lines().find_map(|line| line.strip_prefix("password: "));
    (server, password.expect("a line with the password").to_owned())
}

pub(super) fn post(server: &Server, path: &str, lines: &[&str], body: &str) -> HttpAnswer {
    let (port, length) = (server.api_port, body.len());
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    let head =
        format!("POST {path} HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n");
    http_raw(port, format!("{head}{lines}\r\n{body}").as_bytes()).expect("is answered")
}

pub(super) fn log_in(server: &Server, password: &str) -> HttpAnswer {
    let body = format!("{{\"user\": \"cassandra\", \"password\": \"{password}\"}}");
    post(server, "/helenus/login", &["Content-Type: application/json"], &body)
}

#[test]
fn each_request_is_of_a_role_and_what_watches_the_node_stays_open() {
    let (server, password) = start();
    let port = server.api_port;
    for path in ["/health", "/ready", "/metrics", "/", "/console/app.js"] {
        assert_eq!(http(port, "GET", path).expect("is answered").status, 200, "{path}");
    }
    assert_eq!(http(server.metrics_port, "GET", "/metrics").expect("is answered").status, 200);
    for (method, path) in
        [("GET", PATH), ("GET", "/helenus/console"), ("POST", "/storage_service/flush"), ("POST", "/helenus/cql")]
    {
        let answer = http(port, method, path).expect("is answered");
        assert_eq!(answer.status, 401, "{method} {path}: {}", answer.body);
        assert!(answer.head.contains("www-authenticate: basic "), "{}", answer.head);
    }
    let wrong =
        http_with(port, "GET", PATH, &["Authorization: Basic Y2Fzc2FuZHJhOmNhc3NhbmRyYQ=="]).expect("is answered");
    assert!(
        wrong.status == 401 && wrong.body.contains("username cassandra and/or password are incorrect"),
        "{}",
        wrong.body
    );
    let printed = nodetool(&server, &format!("-u cassandra -pw {password} info"));
    assert_eq!((printed.code, printed.errors.as_str()), (0, ""), "{}", printed.output);
    assert_eq!(nodetool(&server, &format!("-u cassandra -pw {password} flush")).code, 0);
    let printed = nodetool(&server, "-u cassandra -pw cassandra info");
    assert!(printed.code == 1 && printed.errors.contains("incorrect"), "{}", printed.errors);
    let printed = nodetool(&server, "info");
    assert!(printed.code == 1 && printed.errors.contains("requires a login"), "{}", printed.errors);
    server.stop();
}

#[test]
fn a_browser_logs_in_for_a_cookie_and_changes_from_the_own_page_alone() {
    let (server, password) = start();
    let port = server.api_port;
    assert_eq!(log_in(&server, "wrong").status, 401);
    let answer = log_in(&server, &password);
    assert!(answer.status == 200 && answer.body.contains("cassandra"), "{}", answer.body);
    let set = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(set.contains("httponly") && set.contains("samesite=strict") && !set.contains("secure"), "{set}");
    let (pair, _) = set.split_once(';').expect("a pair, and attributes");
    let cookie = format!("Cookie: {pair}");
    let get = |line: &str| http_with(port, "GET", PATH, &[line]).expect("is answered").status;
    assert_eq!(get(&cookie), 200);
    assert_eq!(get(&format!("Cookie: helenus-{port}={}", "0".repeat(32))), 401);
    let pulse = http_with(port, "GET", "/helenus/console", &[&cookie]).expect("is answered");
    assert!(pulse.body.contains("\"role\":\"cassandra\""), "{}", pulse.body);
    let origin = format!("Origin: http://127.0.0.1:{port}");
    // The console's statements run as the cookie's role, without its password.
    for _ in 0..4 {
        let json = "Content-Type: application/json";
        let body = "{\"statement\": \"SELECT username FROM system_views.clients\"}";
        let answer = post(&server, "/helenus/cql", &[&cookie, &origin, json], body);
        assert!(answer.status == 200 && answer.body.contains("\"error\":null"), "{}", answer.body);
        assert!(answer.body.contains("[\"cassandra\"]"), "{}", answer.body);
    }
    let flush = |lines: &[&str]| post(&server, "/storage_service/flush", lines, "").status;
    assert_eq!(flush(&[&cookie]), 403, "no page says that it asks");
    assert_eq!(flush(&[&cookie, "Origin: http://evil.example"]), 403);
    assert_eq!(flush(&[&cookie, &origin]), 200);
    assert_eq!(flush(&[&cookie, "Sec-Fetch-Site: same-origin"]), 200);
    assert_eq!(post(&server, "/helenus/logout", &[&cookie, &origin], "").status, 200);
    assert_eq!(get(&cookie), 401);
    server.stop();
}

#[test]
fn permissions_on_mbeans_decide_what_a_role_may_ask() {
    let (server, password) = start();
    let basic = |user: &str, password: &str| nodetool(&server, &format!("-u {user} -pw {password} flush")).code;
    let set = log_in(&server, &password).head;
    let set = set.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie").to_owned();
    let cookie = format!("Cookie: {}", set.split(';').next().expect("a pair"));
    let run = |statement: &str| {
        let lines = [&*cookie, "Content-Type: application/json", "Sec-Fetch-Site: same-origin"];
        let answer = post(&server, "/helenus/cql", &lines, &format!("{{\"statement\": \"{statement}\"}}"));
        assert!(answer.body.contains("\"error\":null"), "{statement}: {}", answer.body);
    };
    run("CREATE ROLE monitor WITH LOGIN = true AND PASSWORD = 'looking'");
    let look = || nodetool(&server, "-u monitor -pw looking tablestats");
    let refused = look();
    assert!(refused.code == 1 && refused.errors.contains("SELECT"), "{}", refused.errors);
    run("GRANT SELECT ON ALL MBEANS TO monitor");
    assert_eq!(look().code, 0, "{}", look().errors);
    assert_eq!(basic("monitor", "looking"), 1, "it may look, and not flush");
    run("GRANT EXECUTE ON MBEAN 'org.apache.cassandra.db:type=StorageService' TO monitor");
    assert_eq!(basic("monitor", "looking"), 0);
    assert_eq!(nodetool(&server, "-u monitor -pw looking disablehandoff").code, 1, "of another MBean");
    run("REVOKE EXECUTE ON MBEAN 'org.apache.cassandra.db:type=StorageService' FROM monitor");
    assert_eq!(basic("monitor", "looking"), 1, "revoked");
    for (pattern, flushes, hands_off) in [
        ("org.apache.cassandra.net:*", 1, 1),
        ("org.apache.cassandra.db:type=StorageS*", 0, 1),
        ("org.apache.cassandra.*:*", 0, 0),
    ] {
        run(&format!("GRANT EXECUTE ON MBEANS '{pattern}' TO monitor"));
        assert_eq!(basic("monitor", "looking"), flushes, "{pattern}");
        assert_eq!(nodetool(&server, "-u monitor -pw looking disablehandoff").code, hands_off, "{pattern}");
        run(&format!("REVOKE EXECUTE ON MBEANS '{pattern}' FROM monitor"));
    }
    run("ALTER ROLE monitor WITH LOGIN = false");
    assert!(look().errors.contains("monitor is not permitted to log in"), "{}", look().errors);
    server.stop();
}

#[test]
fn a_cookie_ends_with_the_password_the_role_and_the_right_to_log_in() {
    let (server, password) = start();
    let port = server.api_port;
    let cookie_of = |user: &str, password: &str| {
        let body = format!("{{\"user\": \"{user}\", \"password\": \"{password}\"}}");
        let answer = post(&server, "/helenus/login", &["Content-Type: application/json"], &body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let set = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie").to_owned();
        format!("Cookie: {}", set.split(';').next().expect("a pair"))
    };
    let run_by = |cookie: &str, body: &str| {
        let lines = [cookie, "Content-Type: application/json", "Sec-Fetch-Site: same-origin"];
        post(&server, "/helenus/cql", &lines, body)
    };
    let superuser = cookie_of("cassandra", &password);
    let run = |statement: &str| {
        let answer = run_by(&superuser, &format!("{{\"statement\": \"{statement}\"}}"));
        assert!(answer.status == 200 && answer.body.contains("\"error\":null"), "{statement}: {}", answer.body);
    };
    let get = |cookie: &str| http_with(port, "GET", PATH, &[cookie]).expect("is answered").status;
    let make = |password: &str| {
        run(&format!("CREATE ROLE ada WITH LOGIN = true AND PASSWORD = '{password}'"));
        run("GRANT SELECT ON ALL MBEANS TO ada");
    };
    make("first");
    let cookie = cookie_of("ada", "first");
    assert_eq!(get(&cookie), 200);
    run("ALTER ROLE ada WITH SUPERUSER = false");
    run("REVOKE SELECT ON ALL MBEANS FROM ada");
    assert_eq!(get(&cookie), 403, "it goes on, with the permissions of now");
    run("GRANT SELECT ON ALL MBEANS TO ada");
    assert_eq!(get(&cookie), 200);

    run("ALTER ROLE ada WITH PASSWORD = 'second'");
    // The box with another user's name and password needs the page's login all the same.
    let typed = "{\"statement\": \"SELECT key FROM system.local\", \"user\": \"ada\", \"password\": \"second\"}";
    assert_eq!(run_by(&cookie, typed).status, 401);
    assert_eq!(get(&cookie), 401);
    assert_eq!(run_by(&cookie, "{\"statement\": \"SELECT key FROM system.local\"}").status, 401);

    let cookie = cookie_of("ada", "second");
    assert_eq!(get(&cookie), 200);
    run("DROP ROLE ada");
    make("second");
    assert_eq!(get(&cookie), 401, "a namesake with the same password has another hash");

    let cookie = cookie_of("ada", "second");
    run("ALTER ROLE ada WITH LOGIN = false");
    assert_eq!(get(&cookie), 401);
    run("ALTER ROLE ada WITH LOGIN = true");
    assert_eq!(get(&cookie), 401, "it has ended for good");
    assert_eq!(get(&cookie_of("ada", "second")), 200);
    assert_eq!(get(&superuser), 200);
    server.stop();
}

#[test]
fn beyond_loopback_a_login_is_needed_for_all_and_enough_to_listen() {
    let [open, asking] = ["AllowAllAuthenticator", "PasswordAuthenticator"].map(|authenticator| {
        let builder = Builder::new("epoll", 1).configured(&format!("authenticator: {authenticator}\n"));
        builder.for_operators().with(&["--api-address", "0.0.0.0", "--prometheus-address", "0.0.0.0"]).start()
    });
    for port in [open.api_port, open.metrics_port] {
        assert!(http(port, "GET", "/health").is_err(), "it is not listened on");
    }
    for (port, path) in [(asking.api_port, PATH), (asking.api_port, "/health"), (asking.metrics_port, "/metrics")] {
        assert_eq!(http(port, "GET", path).expect("is answered").status, 401, "{path}");
    }
    assert_eq!(http(asking.api_port, "GET", "/").expect("is answered").status, 200);
    for server in [open, asking] {
        let said = server.kill_without_judging();
        assert!(!said.iter().any(|line| line.contains("panicked")), "{said:?}");
    }
}
