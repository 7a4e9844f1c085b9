//! Hashes of other libraries, and texts that are none.

use proptest::prelude::*;

use super::*;

/// Hashes of jBCrypt 0.4 (`$2a$`), libxcrypt (`$2b$`, `$2y$`, `$6$`) and OpenSSL (`$6$`), with their passwords.
const KNOWN: [(&str, &str); 9] = [
    ("", "$2a$05$EN29S89KONIwc7lp5u/UBOesIITy5W8ULG/Tj5thwsU.osM.GlfRG"),
    ("cassandra", "$2a$05$jpiT5QydQnPQ5Zaoffr4suWDdFDwev9SMt0U/GsDsgC2bPGrFYZlq"),
    ("~!@#$%^&*()      ~!@#$%^&*()PNBFRD", "$2a$05$0sBxVOU5fVep7gh409p8cecvL0jromO3WWVQB.HO7JJNw2/iixsFa"),
    ("Пароль ééé", "$2a$05$pMPvXxgZZrfKKdW11CYng.4QAok1dm18f44GHRzVnp7lKfskl8pNS"),
    ("cassandra", "$2b$05$abcdefghijklmnopqrstuumb5R5LZiQOhYtID/rU4fEUO1sHVpO6a"),
    ("cassandra", "$2y$05$abcdefghijklmnopqrstuumb5R5LZiQOhYtID/rU4fEUO1sHVpO6a"),
    (
        "Hello world!",
        "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
    ),
    (
        "Hello world!",
        "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.",
    ),
    (
        "cassandra",
        "$6$rounds=10000$saltstringsaltst$yb3VN50oq2KF25zsJAOga0ptEv/z3bTAzJXkMFX5s8HGfrKEiCMr2pWYWRLtxhbZfBrC40bwHgoZC5z0DDyaz.",
    ),
];

/// Hashes of jBCrypt 0.4 of 72 and of 80 letters x.
const LONG: [&str; 2] = [
    "$2a$05$8VI/aGit.caZlNMaRoO5ceDKkbiOQHaocndCMr0wq0Avqm4ankqk6",
    "$2a$05$IXes2wZdPkmfvso4hiex2OE7xlsGNfiKKwBSgE8E1qfvR.EpbKisu",
];

#[test]
fn hashes_of_other_libraries_are_verified() {
    for (password, text) in KNOWN {
        let hash = PasswordHash::parse(text).unwrap_or_else(|_| panic!("{text} is a hash"));
        assert_eq!(hash.as_str(), text);
        assert!(hash.is_of(password), "{text}");
        assert!(!hash.is_of(&format!("{password}x")), "{text}");
    }
}

#[test]
fn a_hash_is_written_as_jbcrypt_writes_it() {
    for (password, text) in KNOWN.into_iter().filter(|(_, text)| text.starts_with("$2a$05$")) {
        let salt = crypt64::decode(&text[7..29]).expect("a salt");
        assert_eq!(PasswordHash::of_password_at(password, salt, 5).as_str(), text);
    }
}

#[test]
fn a_password_is_that_of_its_hash_alone() {
    let hash = PasswordHash::of_password_at("geheim", [7; 16], COST_MIN);
    assert!(hash.as_str().starts_with("$2a$04$"));
    assert_eq!(hash.as_str().len(), 60);
    assert_eq!(PasswordHash::parse(hash.as_str()), Ok(hash.clone()));
    assert!(hash.is_of("geheim") && !hash.is_of("Geheim") && !hash.is_of(""));
    assert_ne!(PasswordHash::of_password_at("geheim", [8; 16], COST_MIN), hash);
    assert_eq!(format!("{hash:?}"), "PasswordHash(*******)");
}

#[test]
fn passwords_of_72_bytes_have_no_nul_and_longer_ones_are_cut_as_in_java() {
    let long = "x".repeat(PASSWORD_BYTES_MAX);
    let hash = PasswordHash::of_password_at(&long, [1; 16], COST_MIN);
    assert!(hash.is_of(&long) && hash.is_of(&format!("{long}y")));
    assert!(!hash.is_of(&long[1..]));
    for text in LONG {
        let hash = PasswordHash::parse(text).expect("a hash");
        assert!(hash.is_of(&long) && hash.is_of(&"x".repeat(80)) && !hash.is_of(&long[1..]), "{text}");
    }
}

#[test]
#[should_panic(expected = "no longer than bcrypt reads")]
fn a_longer_password_is_not_hashed() {
    PasswordHash::of_password(&"x".repeat(PASSWORD_BYTES_MAX + 1), [0; 16]);
}

#[test]
fn the_dummy_is_a_hash_of_the_usual_cost_and_of_no_password_that_is_tried() {
    let dummy = PasswordHash::dummy();
    assert_eq!(PasswordHash::parse(dummy.as_str()), Ok(dummy.clone()));
    assert!(dummy.as_str().starts_with(&format!("$2a${COST}$")));
    assert!(!dummy.is_of("") && !dummy.is_of("cassandra"));
}

#[test]
fn texts_that_are_no_hash_are_refused() {
    let good = KNOWN[1].1;
    let sha = KNOWN[6].1;
    let bad = [
        String::new(),
        "secret".into(),
        good.replace("$2a$", "$2$"),
        good.replace("$2a$", "$2x$"),
        good.replace("$05$", "$03$"),
        good.replace("$05$", "$17$"),
        good.replace("$05$", "$5$"),
        good.replace("$05$", "$+5$"),
        good[..59].into(),
        format!("{good}x"),
        good.replace("jpi", "j_i"),
        good.replace("jpi", "jé"),
        sha.replace("$6$", "$5$"),
        sha.replace("$6$", "$6$rounds=999$"),
        sha.replace("$6$", "$6$rounds=01000$"),
        sha.replace("$6$", "$6$rounds=2000000$"),
        sha.replace("saltstring", ""),
        sha.replace("saltstring", "saltstringsaltstr"),
        format!("{sha}."),
        format!("{sha}$"),
    ];
    for text in bad {
        assert_eq!(PasswordHash::parse(&text), Err(HashError), "{text}");
    }
    assert_eq!(HashError.to_string(), "Invalid hashed password value. Please use jBcrypt.");
}

proptest! {
    #[test]
    fn letters_go_there_and_back(bytes: [u8; 16], more: [u8; 23]) {
        prop_assert_eq!(crypt64::decode(&crypt64::encode(&bytes)), Some(bytes));
        prop_assert_eq!(crypt64::decode(&crypt64::encode(&more)), Some(more));
    }

    #[test]
    fn no_text_panics(text in "\\$(2[aby]|6)\\$.{0,70}") {
        let _ = PasswordHash::parse(&text);
    }
}
