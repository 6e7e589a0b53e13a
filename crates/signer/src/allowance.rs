//! Leaves that may still be signed on another process's word, kept in a file, so that no restart of
//! either process refills it.
//!
//! The file is opened before the sandbox is entered, and only the signer writes it: sixteen bytes,
//! millionths of a leaf and when that was. It is locked for each leaf, because a reload has two
//! signers for a moment. Whatever is wrong with it, nothing is signed. Asked by the issuer.

use rate_limit::{ClientRate, TokenBucket, TokenTaken};
use rustix::fs::{FlockOperation, Mode, OFlags, fdatasync, flock};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use vocab::Now;

/// A household meets some dozens of such names a day.
pub(crate) const VOUCHED: ClientRate = ClientRate { burst: 100, milli_per_second: 100 };
const FILE: &str = "vouched.count";
const BYTES: usize = 16;

/// Holds what is left.
#[derive(Debug)]
pub(crate) struct SigningAllowance(File);

impl SigningAllowance {
    /// Opens the file in `dir`, readable by its owner alone; a new one holds all that there may be.
    pub(crate) fn open(dir: &Path, now: Now) -> io::Result<Self> {
        let path = dir.join(FILE);
        let mut options = File::options();
        options
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        match options.clone().create_new(true).open(&path) {
            Ok(file) => {
                let mut made = Self(file);
                made.write(TokenBucket::full(VOUCHED, now.unix_ms))?;
                Ok(made)
            }
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
                let file = options.open(&path)?;
                rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
                Ok(Self(file))
            }
            Err(why) => Err(why),
        }
    }

    /// Takes one leaf, if there is one, and has that written down before it is signed.
    pub(crate) fn take(&mut self, now: Now) -> TokenTaken {
        // Another signer is at it for the blink of an eye; an attacker may hold it for ever.
        if flock(&self.0, FlockOperation::NonBlockingLockExclusive).is_err() {
            return TokenTaken::No;
        }
        let taken = self.take_locked(now).unwrap_or(TokenTaken::No);
        // It is closed with the process at the latest.
        let _ = flock(&self.0, FlockOperation::Unlock);
        taken
    }

    fn take_locked(&mut self, now: Now) -> io::Result<TokenTaken> {
        let mut bytes = [0; BYTES];
        self.0.seek(SeekFrom::Start(0))?;
        self.0.read_exact(&mut bytes)?;
        let (tokens, at) = bytes.split_at(BYTES / 2);
        let word = |half: &[u8]| half.try_into().map_or(0, u64::from_le_bytes);
        let mut bucket = TokenBucket::stored(VOUCHED, word(tokens), word(at));
        // On the wall clock, which goes on while no process runs; set back, it refills nothing.
        let taken = bucket.take(VOUCHED, now.unix_ms.max(word(at)));
        if taken == TokenTaken::Yes {
            self.write(bucket)?;
        }
        Ok(taken)
    }

    fn write(&mut self, bucket: TokenBucket) -> io::Result<()> {
        let (tokens, at) = bucket.to_stored();
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(&[tokens.to_le_bytes(), at.to_le_bytes()].concat())?;
        Ok(fdatasync(&self.0)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn at(unix_ms: u64) -> Now {
        Now { unix_ms, mono_ms: 0 }
    }

    fn take_all(allowance: &mut SigningAllowance, now: Now) -> usize {
        (0..300).filter(|_| allowance.take(now) == TokenTaken::Yes).count()
    }

    #[test]
    fn what_was_taken_stays_taken_whoever_opens_it_again() {
        let dir = std::env::temp_dir().join(format!("tidegate-allowance-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let mut first = SigningAllowance::open(&dir, at(1_000_000)).unwrap();
        let mut beside = SigningAllowance::open(&dir, at(1_000_000)).unwrap();
        assert_eq!(take_all(&mut first, at(1_000_000)), 100);
        assert_eq!(take_all(&mut beside, at(1_000_000)), 0);
        drop((first, beside));
        let mut again = SigningAllowance::open(&dir, at(1_000_000)).unwrap();
        assert_eq!(take_all(&mut again, at(1_000_000)), 0);
        assert_eq!(take_all(&mut again, at(1_030_000)), 3, "one in ten seconds");
        assert_eq!(take_all(&mut again, at(900_000)), 0, "a clock that was set back");
        assert_eq!(take_all(&mut again, at(1_030_000)), 0, "and forth");
        // Damaged, it allows nothing.
        std::fs::write(dir.join(FILE), [0xFF; 3]).unwrap();
        assert_eq!(take_all(&mut again, at(9_000_000)), 0);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
