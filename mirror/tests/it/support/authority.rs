//! A certificate authority of our own.

use std::path::PathBuf;
use std::sync::Arc;

use parity_mirror::ServerTls;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tempfile::TempDir;

/// An authority, and a certificate of it for `localhost`.
pub(crate) struct Authority {
    _folder: TempDir,
    /// The authority's certificate.
    pub(crate) file: PathBuf,
    /// The certificate for `localhost` and its key.
    pub(crate) files: ServerTls,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new([]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
        let key = KeyPair::generate().expect("a key");
        let certificate = CertificateParams::new(["localhost".to_owned()])
            .expect("a name")
            .signed_by(&key, &issuer)
            .expect("signed");
        let folder = TempDir::new().expect("a folder");
        let write = |name: &str, pem: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, pem).expect("written");
            path
        };
        Self {
            file: write("ca.pem", issuer.pem()),
            files: ServerTls {
                certificate_file: write("certificate.pem", certificate.pem()),
                key_file: write("key.pem", key.serialize_pem()),
            },
            _folder: folder,
        }
    }

    /// For a service that offers these protocols.
    pub(crate) fn server(&self, protocols: &[&str]) -> Arc<ServerConfig> {
        let pem = &self.files;
        let chain = rustls::pki_types::CertificateDer::pem_file_iter(&pem.certificate_file)
            .and_then(Iterator::collect)
            .expect("own certificate");
        let key = PrivateKeyDer::from_pem_file(&pem.key_file).expect("own key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a certificate and its key");
        config.alpn_protocols = alpn(protocols);
        Arc::new(config)
    }

    /// For a client that offers these protocols.
    pub(crate) fn client(&self, protocols: &[&str]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        let certificate = rustls::pki_types::CertificateDer::from_pem_file(&self.file);
        roots
            .add(certificate.expect("own certificate"))
            .expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn(protocols);
        Arc::new(config)
    }
}

fn alpn(protocols: &[&str]) -> Vec<Vec<u8>> {
    protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect()
}
