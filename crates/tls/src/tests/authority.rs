//! Certificates for tests: an authority, and what it issues. Other crates' tests include this file by its path.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType, date_time_ymd,
};

/// An authority that signs certificates.
pub struct Authority {
    params: CertificateParams,
    key: KeyPair,
    /// Its own certificate.
    pub pem: String,
}

/// A certificate with its key, both PEM.
#[derive(Debug, Clone)]
pub struct Issued {
    pub certificate: String,
    pub key: String,
}

/// Years at whose beginnings a certificate begins and ends to be valid.
pub const VALID: (i32, i32) = (2020, 2090);

impl Authority {
    pub fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params.not_before, params.not_after) = (date_time_ymd(VALID.0, 1, 1), date_time_ymd(VALID.1, 1, 1));
        let key = KeyPair::generate().expect("the system has random bytes");
        let pem = params.self_signed(&key).expect("its own key signs").pem();
        Authority { params, key, pem }
    }

    /// A certificate for these addresses, valid from the beginning of a year to that of another.
    pub fn issue(&self, addresses: &[&str], years: (i32, i32)) -> Issued {
        self.issue_as("node", addresses, &[], years)
    }

    /// A certificate with a common name; its subject alternative names are addresses and URIs.
    pub fn issue_as(&self, name: &str, addresses: &[&str], uris: &[&str], (from, to): (i32, i32)) -> Issued {
        let params = CertificateParams::new(addresses.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        let mut params = params.expect("they are addresses");
        params.distinguished_name.push(DnType::CommonName, name);
        let uris = uris.iter().map(|uri| SanType::URI((*uri).try_into().expect("a URI is ASCII")));
        params.subject_alt_names.extend(uris);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Issued {
        let key = KeyPair::generate().expect("the system has random bytes");
        let issuer = Issuer::from_params(&self.params, &self.key);
        let certificate = params.signed_by(&key, &issuer).expect("the authority's key signs").pem();
        Issued { certificate, key: key.serialize_pem() }
    }
}
