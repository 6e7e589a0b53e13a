//! Audit log of what was signed, a line a leaf: time, names, serial.
//!
//! It only ever appends. Beyond [`AUDIT_BYTES_MAX`] the file becomes the old one, whose former
//! content goes. Both files are opened at the start: inside its sandbox the signer can open nothing
//! any more. A line that cannot be written is counted and stops nobody: a full disk must not break
//! pages. Written by the issuer alone.

use rustix::fs::{Mode, OFlags};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use time::OffsetDateTime;

/// Size at which the log begins anew, in bytes: some 40,000 leaves, and as many in the old one.
pub const AUDIT_BYTES_MAX: u64 = 4 << 20;

/// The log and the one before it.
#[derive(Debug)]
pub(crate) struct AuditLog {
    now: File,
    old: File,
    bytes: u64,
    lost: u64,
}

impl AuditLog {
    /// Opens `audit.log` and `audit.log.1` in `dir`, readable by their owner alone.
    pub(crate) fn open(dir: &Path) -> io::Result<Self> {
        let open = |name| {
            let mut options = std::fs::OpenOptions::new();
            // Not in append mode: `ftruncate` and a write at 0 are the rotation.
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(dir.join(name))
        };
        let (mut now, old) = (open("audit.log")?, open("audit.log.1")?);
        for file in [&now, &old] {
            rustix::fs::fchmod(file, Mode::RUSR | Mode::WUSR)?;
        }
        let bytes = now.seek(SeekFrom::End(0))?;
        Ok(Self { now, old, bytes, lost: 0 })
    }

    /// Lines that could not be written.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes a line. `why` says by what right: `blocked`, `vouched` or `own`.
    pub(crate) fn note(&mut self, unix_secs: u64, why: &str, names: &[String], serial: &[u8]) {
        let line = line(unix_secs, why, names, serial);
        let written = self.rotate(line.len() as u64).and_then(|()| {
            // Where a former line was cut off by a full disk, its rest is written over.
            self.now.seek(SeekFrom::Start(self.bytes))?;
            self.now.write_all(line.as_bytes())
        });
        match written {
            Ok(()) => self.bytes += line.len() as u64,
            Err(_) => self.lost += 1,
        }
    }

    fn rotate(&mut self, more: u64) -> io::Result<()> {
        if self.bytes + more <= AUDIT_BYTES_MAX {
            return Ok(());
        }
        self.now.seek(SeekFrom::Start(0))?;
        self.old.seek(SeekFrom::Start(0))?;
        self.old.set_len(0)?;
        // By hand: `io::copy` would use system calls that the sandbox refuses.
        let mut piece = vec![0; 1 << 16];
        loop {
            match self.now.read(&mut piece)? {
                0 => break,
                count => self.old.write_all(&piece[..count])?,
            }
        }
        self.now.set_len(0)?;
        self.bytes = 0;
        Ok(())
    }
}

fn line(unix_secs: u64, why: &str, names: &[String], serial: &[u8]) -> String {
    let secs = i64::try_from(unix_secs).unwrap_or(0);
    let at = OffsetDateTime::from_unix_timestamp(secs).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let mut line = format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z {why} {} ",
        at.year(),
        u8::from(at.month()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        names.join(",")
    );
    for byte in serial {
        // A String takes everything.
        let _ = write!(line, "{byte:02x}");
    }
    line.push('\n');
    line
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn lines_are_appended_and_the_file_turns_over_at_its_size() {
        let dir = std::env::temp_dir().join(format!("tidegate-audit-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
        let names = ["ads.example".to_owned(), "*.ads.example".to_owned()];
        let expected = "2026-11-21T20:41:07Z blocked ads.example,*.ads.example 01ff\n".to_owned();
        let mut audit = AuditLog::open(&dir).unwrap();
        audit.note(1_795_293_667, "blocked", &names, &[1, 255]);
        assert_eq!(read("audit.log"), expected);
        drop(audit);
        let mut audit = AuditLog::open(&dir).unwrap();
        let count = AUDIT_BYTES_MAX / expected.len() as u64;
        for _ in 0..count {
            audit.note(1_795_293_667, "blocked", &names, &[1, 255]);
        }
        assert_eq!(read("audit.log"), expected);
        assert_eq!(read("audit.log.1"), expected.repeat(count as usize));
        assert_eq!(audit.lost(), 0);
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_full_disk_costs_lines_and_nothing_else() {
        let full = || File::options().read(true).write(true).open("/dev/full").unwrap();
        let mut audit = AuditLog { now: full(), old: full(), bytes: 0, lost: 0 };
        audit.note(1_795_293_667, "own", &["dns.home.arpa".to_owned()], &[1]);
        audit.note(1_795_293_667, "own", &["dns.home.arpa".to_owned()], &[2]);
        assert_eq!((audit.lost(), audit.bytes), (2, 0));
    }
}
