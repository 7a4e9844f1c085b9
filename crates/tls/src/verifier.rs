//! Judges the other end's certificate: the chain always, its address where that is asked for.
//!
//! rustls' own verifier always asks for the name. Certificates of nodes are often without their addresses, and Cassandra checks those with
//! `require_endpoint_verification` only.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

use crate::provider::provider;

/// The dialling end's judge.
#[derive(Debug)]
pub(crate) struct DialledVerifier {
    trusted: Arc<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
    verifies_addresses: bool,
}

impl DialledVerifier {
    pub(crate) fn new(trusted: Arc<RootCertStore>, verifies_addresses: bool) -> DialledVerifier {
        let algorithms = provider().signature_verification_algorithms;
        DialledVerifier { trusted, algorithms, verifies_addresses }
    }
}

impl ServerCertVerifier for DialledVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&certificate, &self.trusted, intermediates, now, algorithms)?;
        if self.verifies_addresses {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The listening end's judge: a dialler without a certificate is refused.
pub(crate) fn dialler_verifier(trusted: &Arc<RootCertStore>) -> Arc<dyn ClientCertVerifier> {
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::clone(trusted), Arc::new(provider()));
    builder.build().expect("material has a trusted certificate")
}

/// The listening end's judge of a dialler at one address, which must be among those of its certificate.
#[derive(Debug)]
pub(crate) struct AddressVerifier {
    chain: Arc<dyn ClientCertVerifier>,
    address: ServerName<'static>,
}

impl AddressVerifier {
    /// `chain` judges all else.
    pub(crate) fn new(chain: Arc<dyn ClientCertVerifier>, address: IpAddr) -> AddressVerifier {
        AddressVerifier { chain, address: ServerName::from(address) }
    }
}

impl ClientCertVerifier for AddressVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.chain.verify_client_cert(end_entity, intermediates, now)?;
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, &self.address)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

/// Judges a chain by what it says itself: no issuer is trusted, so it is always refused, and for its time first.
pub(crate) fn judge_alone(chain: &[CertificateDer<'_>], now: UnixTime) -> Result<(), Error> {
    let (end_entity, intermediates) =
        chain.split_first().ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
    let algorithms = provider().signature_verification_algorithms.all;
    let certificate = ParsedCertificate::try_from(end_entity)?;
    verify_server_cert_signed_by_trust_anchor(&certificate, &RootCertStore::empty(), intermediates, now, algorithms)
}

/// Judges a chain as both ends would: nodes dial and are dialled with the same certificate.
pub(crate) fn judge_for_both_ends(
    chain: &[CertificateDer<'_>],
    trusted: &Arc<RootCertStore>,
    now: UnixTime,
) -> Result<(), Error> {
    let (end_entity, intermediates) =
        chain.split_first().ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
    let algorithms = provider().signature_verification_algorithms.all;
    let certificate = ParsedCertificate::try_from(end_entity)?;
    verify_server_cert_signed_by_trust_anchor(&certificate, trusted, intermediates, now, algorithms)?;
    dialler_verifier(trusted).verify_client_cert(end_entity, intermediates, now)?;
    Ok(())
}
