//! The signer: leaf certificates for names that the policy blocks, from an authority of our own.
//!
//! It is the only way to the authority's key, which is with the [`LeafIssuer`]: in a running
//! Tidegate in a process of its own, inside the sandbox of `sandbox::signer_process`; in tests and
//! commands in this one. It accepts no connection and speaks no TLS. Called by `transport` in
//! handshakes, and by the binary.

mod allowance;
mod audit;
mod authority;
mod bundles;
mod coverage;
mod exclusions;
mod frame;
mod issuer;
mod launcher;
mod leaf;
mod mint_error;
mod mint_policy;
mod names;
mod process;
mod program;
mod sealed_memory;
mod settings;
mod signer;
mod subject;
mod supervisor;
mod tables_handover;
pub mod trust;

pub use audit::AUDIT_BYTES_MAX;
pub use authority::{AuthorityError, BadCaCertificate, CaCertificate};
pub use exclusions::{EXCLUDED_DEFAULT, EXCLUDED_MAX, NameExclusions};
pub use frame::round_trips;
pub use issuer::{LeafIssuer, OwnServerNames};
pub use launcher::{SignerLauncher, run_launcher};
pub use leaf::{LeafCertificate, LeafNames};
pub use mint_error::MintError;
pub use mint_policy::{MintNothing, MintPolicy};
pub use names::{BadName, host_name, own_name};
pub use process::{ProcessError, SignerTask};
pub use program::SignerProgram;
pub use sealed_memory::{NotSealed, SealedMemory};
pub use settings::{BundleMode, Settings, SignedNames, VouchMode};
pub use signer::{ClientSignatures, LEAVES_MAX, Signer, SignerCounts};
pub use subject::{CertificateSubject, IDENTITY_NAMES_MAX};
pub use supervisor::{ANSWER_MAX, ORDERS_MAX, SignerStartError, SignerSuccession};
