//! Certificate verification for services with `https://` URLs.
//!
//! Certificates are always verified: against the system's authorities, and those of `--ca-file` besides them, so that a
//! candidate with a private certificate and a legacy with a public one both work. It cannot be turned off: a shadow
//! carries the client's live credentials.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{ClientConfig, RootCertStore};

/// The authorities could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file of `--ca-file` cannot be read as PEM.
    #[error("cannot read certificates from {path}; it must be a PEM file")]
    File {
        /// Its path.
        path: PathBuf,
        /// What was wrong.
        #[source]
        source: pem::Error,
    },
    /// The file of `--ca-file` holds no certificate.
    #[error("{path} holds no certificate; it must have a BEGIN CERTIFICATE section")]
    Empty {
        /// Its path.
        path: PathBuf,
    },
    /// A certificate of the file is not an authority that can be used.
    #[error("{path} holds a certificate that cannot be used as an authority")]
    Authority {
        /// Its path.
        path: PathBuf,
        /// What was wrong.
        #[source]
        source: rustls::Error,
    },
    /// The file of the key holds none.
    #[error("{path} holds no private key; it must have a BEGIN PRIVATE KEY section")]
    NoKey {
        /// Its path.
        path: PathBuf,
    },
    /// Certificate and key do not match, or are of an unsupported kind.
    #[error("the certificate in {certificate} and the key in {key} cannot be used together")]
    Pair {
        /// Path of the certificate.
        certificate: PathBuf,
        /// Path of the key.
        key: PathBuf,
        /// What was wrong.
        #[source]
        source: rustls::Error,
    },
    /// Neither the system nor a file has an authority.
    #[error(
        "no certificate authority found on this system to verify {upstream}; name one with --ca-file"
    )]
    NoRoots {
        /// The service.
        upstream: String,
    },
    /// The host of an `https://` URL is not a name that a certificate can have.
    #[error(
        "`{0}` is neither a DNS name nor an IP address, so no certificate can be verified for it"
    )]
    Name(String),
    /// The TLS library refused its own defaults.
    #[error("cannot set up TLS")]
    Setup(#[source] rustls::Error),
}

/// A client configuration that trusts the system's authorities and those in `ca_file`.
pub(crate) fn client_config(
    ca_file: Option<&Path>,
    upstream: &str,
) -> Result<Arc<ClientConfig>, TlsError> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    for error in &native.errors {
        tracing::warn!(%error, "some certificate authorities of the system could not be loaded");
    }
    // System stores contain certificates that webpki cannot parse; those are skipped.
    roots.add_parsable_certificates(native.certs);
    if let Some(path) = ca_file {
        add_file(&mut roots, path)?;
    }
    if roots.is_empty() {
        return Err(TlsError::NoRoots {
            upstream: upstream.to_owned(),
        });
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), TlsError> {
    let unreadable = |source| TlsError::File {
        path: path.to_owned(),
        source,
    };
    let before = roots.len();
    for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
        roots
            .add(certificate.map_err(unreadable)?)
            .map_err(|source| TlsError::Authority {
                path: path.to_owned(),
                source,
            })?;
    }
    if roots.len() == before {
        return Err(TlsError::Empty {
            path: path.to_owned(),
        });
    }
    Ok(())
}
