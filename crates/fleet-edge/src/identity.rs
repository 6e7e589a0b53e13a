//! Keys of this machine, which prove what it says and open what is sealed for it.

use durable_file::FileReplacement;
use fleet_bundle::{KeyFault, PublisherKey, SealFault, SealingKey};
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;

/// Files in the fleet's folder of the state folder.
const SIGNING_FILE: &str = "signing.pem";
const SEALING_FILE: &str = "sealing.key";

/// Keys of an edge.
#[derive(Debug)]
pub struct EdgeIdentity {
    /// The one that signs.
    pub signing: PublisherKey,
    /// The one to which secrets are sealed.
    pub sealing: SealingKey,
}

/// Reason why there are no keys.
#[derive(Debug)]
pub enum IdentityFault {
    /// A file cannot be read or written.
    File(io::Error),
    /// The signing key.
    Signing(KeyFault),
    /// The sealing key.
    Sealing(SealFault),
}

impl EdgeIdentity {
    /// The keys in this folder, made where there are none.
    ///
    /// # Errors
    /// [`IdentityFault`].
    pub fn open(folder: &Path) -> Result<Self, IdentityFault> {
        Ok(Self { signing: signing(folder)?, sealing: sealing(folder)? })
    }
}

fn signing(folder: &Path) -> Result<PublisherKey, IdentityFault> {
    let file = folder.join(SIGNING_FILE);
    match std::fs::read(&file) {
        Ok(pem) => PublisherKey::from_pem(&pem).map_err(IdentityFault::Signing),
        Err(why) if why.kind() == ErrorKind::NotFound => {
            let made = PublisherKey::generate().map_err(IdentityFault::Signing)?;
            write(folder, &file, &made.to_pem())?;
            Ok(made)
        }
        Err(why) => Err(why.into()),
    }
}

fn sealing(folder: &Path) -> Result<SealingKey, IdentityFault> {
    let file = folder.join(SEALING_FILE);
    match std::fs::read_to_string(&file) {
        Ok(text) => SealingKey::from_text(&text).map_err(IdentityFault::Sealing),
        Err(why) if why.kind() == ErrorKind::NotFound => {
            let made = SealingKey::generate().map_err(IdentityFault::Sealing)?;
            write(folder, &file, &made.to_text())?;
            Ok(made)
        }
        Err(why) => Err(why.into()),
    }
}

/// Writes a file for the owner of the folder, who need not be whoever runs `fleet join`.
fn write(folder: &Path, file: &Path, text: &str) -> io::Result<()> {
    let written = FileReplacement::private(file).write(text.as_bytes())?;
    let (owner, ours) = (std::fs::metadata(folder)?, written.metadata()?);
    if (owner.uid(), owner.gid()) != (ours.uid(), ours.gid()) {
        fchown(&written, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}

impl From<io::Error> for IdentityFault {
    fn from(why: io::Error) -> Self {
        Self::File(why)
    }
}

impl fmt::Display for IdentityFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(why) => write!(f, "the keys of this edge: {why}"),
            Self::Signing(why) => write!(f, "{SIGNING_FILE}: {why}"),
            Self::Sealing(why) => write!(f, "{SEALING_FILE}: {why}"),
        }
    }
}

impl std::error::Error for IdentityFault {}
