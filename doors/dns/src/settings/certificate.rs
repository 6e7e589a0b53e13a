//! What can be set about the certificate of the encrypted listeners.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A certificate with its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateSettings {
    /// The chain, leaf first, in PEM. Relative to the configuration file.
    pub cert: PathBuf,
    /// The leaf's private key, in PEM.
    pub key: PathBuf,
}
