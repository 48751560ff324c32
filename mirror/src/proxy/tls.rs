//! The TLS configuration for clients that connect with `https://`.
//!
//! Certificate and key are read from files once, when a policy is loaded. Client certificates are not requested.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::proxy::config::ServerTls;
use crate::upstream::TlsError;

/// What clients may choose from.
pub(crate) const PROTOCOLS: [&str; 2] = ["h2", "http/1.1"];

impl ServerTls {
    /// Loads certificate and key. Offers these protocols (ALPN).
    pub fn acceptor(&self, protocols: &[&str]) -> Result<TlsAcceptor, TlsError> {
        server_config(self, protocols).map(TlsAcceptor::from)
    }
}

fn server_config(files: &ServerTls, protocols: &[&str]) -> Result<Arc<ServerConfig>, TlsError> {
    let certificate = &files.certificate_file;
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::File { path, source }
    };
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(unreadable(certificate))?;
    if chain.is_empty() {
        return Err(TlsError::Empty {
            path: certificate.clone(),
        });
    }
    let key = PrivateKeyDer::from_pem_file(&files.key_file).map_err(|source| match source {
        pem::Error::NoItemsFound => TlsError::NoKey {
            path: files.key_file.clone(),
        },
        source => unreadable(&files.key_file)(source),
    })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|source| TlsError::Pair {
            certificate: certificate.clone(),
            key: files.key_file.clone(),
            source,
        })?;
    let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
    config.alpn_protocols = protocols.collect();
    Ok(Arc::new(config))
}
