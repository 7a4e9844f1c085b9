//! `api_tls`: TLS of the ports for operators, with the options of `client_encryption_options`.

use tls::OutsideCredentials;

use super::files::pems_of;
use super::{ClientEncryption, option};
use crate::config::ConfigError;
use crate::config::place::Place;
use crate::config::yaml::Node;

/// Where the PEM for operators' connections is, and how it is used.
#[derive(Debug)]
pub struct ApiEncryption(ClientEncryption);

impl ApiEncryption {
    /// The options of the file; `None`: operators' connections are plain.
    pub(in crate::config) fn read(place: &Place<'_>, node: &Node) -> Result<Option<ApiEncryption>, ConfigError> {
        let Node::Map(entries) = node else { return Err(place.wrong("expected a mapping")) };
        if option(entries, "optional").is_some() {
            return Err(place.wrong("optional is not a supported option: the ports are plain, or speak TLS alone"));
        }
        Ok(ClientEncryption::read(place, node)?.map(ApiEncryption))
    }

    /// Reads the files.
    pub(in crate::config) fn credentials(self) -> Result<OutsideCredentials, ConfigError> {
        let ClientEncryption { sources, options, .. } = self.0;
        let wrong = |error| ConfigError::Certificates { key: "api_tls", error };
        let pems = pems_of(&sources).map_err(wrong)?;
        OutsideCredentials::new(sources, pems, options).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::encryption::testing::{Authority, Folder, VALID, config_of};

    fn stores(name: &str) -> (Folder, [String; 2]) {
        let (folder, authority) = (Folder::new(name), Authority::new("one"));
        let node = authority.issue(&["127.0.0.1"], VALID);
        let keystore = folder.file("keystore", &format!("{}{}", node.key, node.certificate));
        let truststore = folder.file("truststore", &authority.pem);
        (folder, [keystore, truststore])
    }

    fn options(lines: &[&str]) -> String {
        let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        format!("api_tls:\n{lines}")
    }

    #[test]
    fn it_is_off_until_it_is_enabled_and_may_ask_for_certificates() {
        let (_folder, [keystore, truststore]) = stores("api");
        let credentials = |lines: &[&str]| config_of(&options(lines)).expect("it is right").api_tls;
        assert!(credentials(&["enabled: false", &keystore]).is_none());
        assert!(!credentials(&["enabled: true", &keystore]).expect("it is on").proves_clients());
        let asks = ["enabled: true", &keystore, &truststore, "require_client_auth: true"];
        assert!(credentials(&asks).expect("it is on").proves_clients());
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        let (_folder, [keystore, _]) = stores("api-refused");
        for (lines, expected) in [
            (vec!["enabled: true", "optional: true", &keystore], "optional"),
            (vec!["enabled: true"], "needs a certificate"),
            (vec!["enabled: true", &keystore, "require_client_auth: true"], "truststore"),
            (vec!["enabled: true", &keystore, "enabeld: true"], "enabeld"),
            (vec!["enabled: true", "keystore: /none"], "api_tls: cannot read /none"),
        ] {
            let error = config_of(&options(&lines)).map(|_| ()).expect_err("it is refused");
            assert!(error.contains(expected) && error.contains("api_tls"), "{error}");
        }
    }
}
