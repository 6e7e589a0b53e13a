//! Archives and databases as folders of texts: `tar.gz`, `zip`, SQLite.
//!
//! Of a database each table is a file `TABLE.json`, a list of rows, in a folder of the database's
//! name. Everything is read into memory within bounds, and nothing is unpacked to a disk. Programs'
//! views and triggers are not run. Called by `config-imports`, for backups of other programs.

mod database;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Component, Path, PathBuf};

/// Files of an archive, at most.
const FILES_MAX: usize = 2_000;
/// Bytes of a file in an archive, at most.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Bytes of all files of an archive together, at most.
const BYTES_MAX: u64 = 192 << 20;

/// An archive or a database, read.
#[derive(Debug)]
pub struct ArchiveFolder {
    files: BTreeMap<PathBuf, String>,
    /// Bytes that may still be read.
    left: u64,
}

impl ArchiveFolder {
    /// Reads the archive or database at `path`; none where it is another kind of file.
    ///
    /// # Errors
    /// Cannot be read, is damaged, or larger than the bounds.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let mut file = File::open(path)?;
        let mut magic = [0; 16];
        let length = file.read(&mut magic)?;
        let kind = ArchiveKind::of(&magic[..length]);
        file.rewind()?;
        let mut folder = Self { files: BTreeMap::new(), left: BYTES_MAX };
        match kind {
            None => return Ok(None),
            Some(ArchiveKind::TarGz) => folder.add_tar(file)?,
            Some(ArchiveKind::Zip) => folder.add_zip(file)?,
            Some(ArchiveKind::Sqlite) => {
                for (name, text) in database::tables_at(path).map_err(io::Error::other)? {
                    folder.files.insert(PathBuf::from(name), text);
                }
            }
        }
        Ok(Some(folder))
    }

    /// Reads an archive of these bytes, for tests and fuzzers; none where they are none.
    ///
    /// # Errors
    /// Damaged, or larger than the bounds.
    pub fn of_bytes(bytes: &[u8]) -> io::Result<Option<Self>> {
        let mut folder = Self { files: BTreeMap::new(), left: BYTES_MAX };
        match ArchiveKind::of(&bytes[..bytes.len().min(16)]) {
            None => return Ok(None),
            Some(ArchiveKind::TarGz) => folder.add_tar(bytes)?,
            Some(ArchiveKind::Zip) => folder.add_zip(io::Cursor::new(bytes))?,
            Some(ArchiveKind::Sqlite) => folder.add(Path::new("database"), bytes.to_vec())?,
        }
        Ok(Some(folder))
    }

    /// The text of a file, by its path inside.
    ///
    /// # Errors
    /// There is no such file.
    pub fn read(&self, inside: &Path) -> io::Result<String> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "the archive has no such file");
        self.files.get(&normal(inside)).cloned().ok_or_else(missing)
    }

    /// The names in a folder, by its path inside; the empty path is the archive itself.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn list(&self, inside: &Path) -> io::Result<Vec<String>> {
        let inside = normal(inside);
        let below = self.files.keys().filter_map(|path| path.strip_prefix(&inside).ok());
        let names: BTreeSet<String> = below
            .filter_map(|rest| rest.components().next())
            .map(|name| name.as_os_str().to_string_lossy().into_owned())
            .collect();
        let is_file = self.files.contains_key(&inside);
        if names.is_empty() || is_file {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the archive has no such folder"));
        }
        Ok(names.into_iter().collect())
    }

    fn add_tar(&mut self, bytes: impl Read) -> io::Result<()> {
        let unpacked = flate2::read::GzDecoder::new(bytes).take(BYTES_MAX);
        let mut archive = tar::Archive::new(unpacked);
        for entry in archive.entries()? {
            let mut entry = entry?;
            if entry.header().entry_type().is_file() {
                let path = entry.path()?.into_owned();
                let bytes = self.bytes(&mut entry)?;
                self.add(&path, bytes)?;
            }
        }
        Ok(())
    }

    fn add_zip(&mut self, bytes: impl Read + Seek) -> io::Result<()> {
        let mut archive = zip::ZipArchive::new(bytes).map_err(io::Error::other)?;
        if archive.len() > FILES_MAX {
            return Err(too_much());
        }
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).map_err(io::Error::other)?;
            if entry.is_file() {
                let path = PathBuf::from(&*entry.name().map_err(io::Error::other)?);
                let bytes = self.bytes(&mut entry)?;
                self.add(&path, bytes)?;
            }
        }
        Ok(())
    }

    /// The bytes of an entry.
    fn bytes(&mut self, entry: &mut dyn Read) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let most = FILE_BYTES_MAX.min(self.left);
        entry.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most || self.files.len() >= FILES_MAX {
            return Err(too_much());
        }
        self.left -= bytes.len() as u64;
        Ok(bytes)
    }

    /// A file: a text, or a database; what is neither is passed over.
    fn add(&mut self, path: &Path, bytes: Vec<u8>) -> io::Result<()> {
        let path = normal(path);
        if matches!(ArchiveKind::of(&bytes), Some(ArchiveKind::Sqlite)) {
            for (name, text) in database::tables_of(&bytes).map_err(io::Error::other)? {
                self.files.insert(path.join(name), text);
            }
        } else if let Ok(text) = String::from_utf8(bytes) {
            self.files.insert(path, text);
        }
        Ok(())
    }
}

fn too_much() -> io::Error {
    io::Error::other("the archive is larger than a backup of settings")
}

/// A path of names alone: no root, no steps upward.
fn normal(path: &Path) -> PathBuf {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_)));
    names.collect()
}

/// Kinds of files that are folders here.
enum ArchiveKind {
    TarGz,
    Zip,
    Sqlite,
}

impl ArchiveKind {
    fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::TarGz),
            [b'P', b'K', 3, 4, ..] => Some(Self::Zip),
            bytes if bytes.starts_with(b"SQLite format 3\0") => Some(Self::Sqlite),
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use std::io::Write;

    /// A database with one table, in bytes.
    fn database() -> Vec<u8> {
        let mut made = rusqlite::Connection::open_in_memory().unwrap();
        made.execute_batch(
            "CREATE TABLE adlist (id INTEGER, address TEXT, enabled INTEGER, raw BLOB);
             INSERT INTO adlist VALUES (1, 'https://lists.example/a', 1, x'00');
             CREATE TABLE \"odd name\" (a);
             CREATE VIEW client AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n)
               SELECT x AS id FROM n;",
        )
        .unwrap();
        made.serialize("main").unwrap().to_vec()
    }

    fn gz_tar(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, bytes) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_cksum();
            tar.append_data(&mut header, name, *bytes).unwrap();
        }
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&tar.into_inner().unwrap()).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn an_archive_is_a_folder_and_a_database_in_it_too() {
        let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, bytes) in
            [("etc/pihole/pihole.toml", b"[dns]".to_vec()), ("etc/pihole/gravity.db", database())]
        {
            zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(&bytes).unwrap();
        }
        let bytes = zip.finish().unwrap().into_inner();
        let folder = ArchiveFolder::of_bytes(&bytes).unwrap().unwrap();
        assert_eq!(folder.list(Path::new("")).unwrap(), ["etc"]);
        assert_eq!(folder.read(Path::new("/etc/pihole/pihole.toml")).unwrap(), "[dns]");
        let rows = folder.read(Path::new("etc/pihole/gravity.db/adlist.json")).unwrap();
        assert_eq!(
            rows,
            r#"[{"address":"https://lists.example/a","enabled":1,"id":1,"raw":null}]"#
        );
        // A view may never end: it is not asked.
        assert_eq!(folder.list(Path::new("etc/pihole/gravity.db")).unwrap(), ["adlist.json"]);
    }

    #[test]
    fn a_packed_tar_is_a_folder() {
        let bytes = gz_tar(&[("./setupVars.conf", b"A=1\n"), ("raw", b"\xff\xfe")]);
        let folder = ArchiveFolder::of_bytes(&bytes).unwrap().unwrap();
        assert_eq!(folder.list(Path::new("")).unwrap(), ["setupVars.conf"]);
        assert!(folder.list(Path::new("setupVars.conf")).is_err());
        assert!(ArchiveFolder::of_bytes(b"plain text").unwrap().is_none());
        assert!(ArchiveFolder::of_bytes(b"PK\x03\x04 and no more").is_err());
    }

    #[test]
    fn a_file_that_unpacks_to_too_much_is_refused() {
        let zeros = vec![0; (FILE_BYTES_MAX + 1) as usize];
        assert!(ArchiveFolder::of_bytes(&gz_tar(&[("bomb", &zeros)])).is_err());
    }
}
