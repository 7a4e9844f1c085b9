//! `-mode user= password=`, `-credentials-file` and `-transport`: logins and TLS, in cassandra-stress' words and with PEM in place of keystores.

use std::fmt;
use std::path::PathBuf;

use tls::ClientFiles;

use super::words::{Group, refusal};
use crate::StressError;

/// The login as the command line has it. Debug text does not show the password.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct LoginSettings {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// A file of properties with both.
    pub(crate) file: Option<PathBuf>,
}

impl fmt::Debug for LoginSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoginSettings({:?}, {:?})", self.user, self.file)
    }
}

impl LoginSettings {
    /// Reads the words of `-mode`.
    pub(super) fn of_mode(group: &mut Group) -> Result<LoginSettings, StressError> {
        let (user, password) = (group.value("user=")?, group.value("password=")?);
        if user.is_none() && password.is_some() {
            return Err(refusal("-mode: password= needs user="));
        }
        Ok(LoginSettings { user, password, file: None })
    }

    /// Reads the file's name of `-credentials-file`.
    pub(super) fn take_file(&mut self, mut group: Group, is_said: bool) -> Result<(), StressError> {
        self.file = group.bare()?.map(PathBuf::from);
        if is_said && self.file.is_none() {
            return Err(refusal("-credentials-file: needs a file"));
        }
        group.finish()
    }
}

/// `-transport`; `None`: connections are plain.
pub(super) fn transport(mut group: Group) -> Result<Option<ClientFiles>, StressError> {
    group.refuse(&[("ssl-ciphers=", "the suites are those of TLS 1.3, and of TLS 1.2 with ECDHE and AEAD")])?;
    let trusted = group.value("truststore=")?.map(PathBuf::from);
    let own = group.value("keystore=")?.map(PathBuf::from);
    // PEM needs no password, and what an algorithm of Java's is called means nothing.
    for without_effect in ["truststore-password=", "keystore-password=", "ssl-alg="] {
        group.value(without_effect)?;
    }
    let _ = group.parsed("ssl-protocol=", "TLS: its versions 1.2 and 1.3", |text| {
        text.eq_ignore_ascii_case("TLS").then_some(())
    })?;
    group.finish()?;
    match (trusted, own) {
        (Some(trusted), own) => Ok(Some(ClientFiles { trusted, own: own.map(|own| (own.clone(), own)) })),
        (None, Some(_)) => Err(refusal("-transport: keystore= needs truststore=")),
        (None, None) => Ok(None),
    }
}

/// A value of a file of Java's properties, as far as such a file has a name and a value on a line.
pub(crate) fn property(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with(['#', '!']));
    let value = lines.rev().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let value = rest.trim_start();
        match value.strip_prefix(['=', ':']) {
            Some(value) => Some(value.trim_start()),
            // A blank ends a name too.
            None if value.len() < rest.len() => Some(value),
            None => None,
        }
    })?;
    let mut out = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        out.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::property;

    #[test]
    fn properties_are_read_as_java_writes_them() {
        let text =
            "# cql.password=no\n! cql.password=no\ncql.passwords=no\ncql.username = ada\n cql.password: a\\\\b\\=c d\n";
        assert_eq!(property(text, "cql.username").as_deref(), Some("ada"));
        assert_eq!(property(text, "cql.password").as_deref(), Some("a\\b=c d"));
        assert_eq!(property(text, "jmx.password"), None);
        assert_eq!(property("cql.password x\ncql.password=y", "cql.password").as_deref(), Some("y"));
        assert_eq!(property("cql.password=", "cql.password").as_deref(), Some(""));
    }
}
