//! Options read from command lines, and what is refused.

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    options: AccessOptions,
}

fn options(line: &str) -> AccessOptions {
    Line::try_parse_from(std::iter::once("tool").chain(line.split_whitespace())).expect("is read").options
}

fn passwords(given: Option<&str>, file: Option<&str>, variable: Option<&str>) -> Passwords {
    Passwords {
        given: given.map(str::to_owned),
        file: file.map(|text| text.as_bytes().to_vec()),
        variable: variable.map(str::to_owned),
    }
}

fn password(found: Passwords) -> Option<String> {
    Login::of(Some("ada".to_owned()), found).ok().flatten().map(|login| login.password)
}

#[test]
fn the_first_place_that_has_a_password_counts() {
    assert_eq!(password(passwords(Some("a"), Some("b\n"), Some("c"))).as_deref(), Some("a"));
    assert_eq!(password(passwords(None, Some("b \r\nmore"), Some("c"))).as_deref(), Some("b "));
    assert_eq!(password(passwords(None, None, Some("c"))).as_deref(), Some("c"));
    for none in [passwords(None, None, None), passwords(None, Some("\nb"), Some("c")), passwords(None, None, Some(""))]
    {
        let error = Login::of(Some("ada".to_owned()), none).expect_err("there is none").to_string();
        assert!(error.contains("ada") && error.contains("HELENUS_PASSWORD"), "{error}");
    }
}

#[test]
fn a_password_without_a_name_is_refused_but_in_the_environment() {
    assert!(matches!(Login::of(None, passwords(Some("a"), None, None)), Err(AccessError::NoUsername)));
    assert!(matches!(Login::of(None, passwords(None, Some("a"), None)), Err(AccessError::NoUsername)));
    assert!(matches!(Login::of(None, passwords(None, None, Some("a"))), Ok(None)));
}

#[test]
fn files_of_tls_belong_together() {
    assert_eq!(options("").files().expect("plain"), None);
    let files = options("--cacert ca --cert both").files().expect("whole").expect("TLS");
    assert_eq!(files.own, Some(("both".into(), "both".into())));
    let files = options("--ssl --cacert ca --cert c --key k").files().expect("whole").expect("TLS");
    assert_eq!(files.own, Some(("c".into(), "k".into())));
    assert!(matches!(options("--ssl").files(), Err(AccessError::NoAuthority)));
    assert!(matches!(options("--cert c").files(), Err(AccessError::CertificateWithoutTls)));
    for refused in ["tool --key k", "tool -u ada -p a --password-file f"] {
        assert!(Line::try_parse_from(refused.split_whitespace()).is_err(), "{refused}");
    }
}

#[test]
fn no_debug_text_has_a_password() {
    let line = options("-u ada -p hidden");
    let login = Login { username: "ada".to_owned(), password: "hidden".to_owned() };
    let shown = format!("{line:?} {login:?}");
    assert!(shown.contains("ada") && !shown.contains("hidden"), "{shown}");
    assert_eq!(login.sasl_plain(), b"\0ada\0hidden");
}
