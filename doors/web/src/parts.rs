//! What the web door is built from: the parts of the program that it shares.
//!
//! Made by the binary; read by `door` and `tls`.

use arc_swap::ArcSwap;
use file_access::private_files::PrivateFiles;
use ledger::Ledger;
use policy::Policy;
use signer::Signer;
use std::path::PathBuf;
use std::sync::Arc;

/// Holds what the door is built from.
#[derive(Clone)]
pub struct WebParts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// The folder from which relative roots start.
    pub base: PathBuf,
    /// Files and folders that no site serves, whatever its root.
    pub private: Arc<PrivateFiles>,
    /// Who signs the certificates of sites that have none as files.
    pub signer: Option<Arc<Signer>>,
    /// Takes a line for the administrator: what came of a certificate that has changed.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
}
