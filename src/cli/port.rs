//! Flags of the commands that ask the admin port of a running process.
//!
//! Each is a variable, too: the one by which the process itself was told, so that one environment serves both.

use std::path::{Path, PathBuf};

use clap::Args;

/// Where the port is, and how to get in.
#[derive(Debug, Args)]
pub(crate) struct PortArgs {
    /// The admin port of a mirror, a sink or `parity ui`.
    #[arg(long, value_name = "URL", env = "PARITY_ADMIN", default_value = "http://127.0.0.1:9900", value_parser = crate::top::base)]
    pub(crate) admin: crate::top::Base,
    /// The file with the token that the port needs.
    #[arg(long, value_name = "FILE", env = "PARITY_ADMIN_TOKEN_FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Certificates to trust for https:// besides those of the system, as PEM.
    #[arg(long, value_name = "FILE", env = "PARITY_CA_FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

impl PortArgs {
    /// The files with the token and the certificates.
    pub(crate) fn files(&self) -> [Option<&Path>; 2] {
        [self.token_file.as_deref(), self.ca_file.as_deref()]
    }
}
