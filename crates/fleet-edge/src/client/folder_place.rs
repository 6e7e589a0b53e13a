//! Bundles in a folder of this machine, which several may share.

use crate::objects;
use crate::placed::{PlaceFault, PlacedObject};
use durable_file::{DraftName, FileAccess, FileReplacement, NameDurability};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A folder with bundles.
pub(crate) struct FolderPlace(pub(crate) PathBuf);

impl FolderPlace {
    /// Each machine may add a file of its own to these folders and change no other's; what it
    /// writes is believed for its signature.
    pub(crate) fn prepare(&self) -> Result<(), PlaceFault> {
        let open_to_all = |name: &str| {
            let path = self.0.join(name);
            std::fs::create_dir_all(&path)?;
            std::fs::set_permissions(&path, Permissions::from_mode(0o1777))
        };
        let made = objects::WRITTEN_FOLDERS.into_iter().try_for_each(open_to_all);
        made.map_err(|why: io::Error| PlaceFault::Refused(why.to_string()))
    }

    pub(crate) fn get(
        &self,
        path: &str,
        tag: Option<&str>,
        most: usize,
    ) -> Result<PlacedObject, PlaceFault> {
        read_file(&self.0, path, tag, most)
    }

    pub(crate) fn put(&self, path: &str, bytes: &[u8]) -> Result<(), PlaceFault> {
        write_file(&self.0, path, bytes)
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.join(path).is_file()
    }
}

/// The tag of a file is its inode, its time and its size: each publication is another file.
fn read_file(
    folder: &Path,
    path: &str,
    tag: Option<&str>,
    most: usize,
) -> Result<PlacedObject, PlaceFault> {
    let failed = |why: io::Error| match why.kind() {
        ErrorKind::PermissionDenied => PlaceFault::Refused(why.to_string()),
        _ => PlaceFault::Unreachable(why.to_string()),
    };
    let file = match File::open(folder.join(path)) {
        Ok(file) => file,
        // A share that is not mounted must not pass for a fleet that has published nothing.
        Err(why) if why.kind() == ErrorKind::NotFound && !folder.exists() => {
            return Err(PlaceFault::Unreachable("the folder is not there".into()));
        }
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(PlacedObject::Missing),
        Err(why) => return Err(failed(why)),
    };
    let about = file.metadata().map_err(failed)?;
    let fresh = format!("{}-{}-{}-{}", about.ino(), about.mtime(), about.mtime_nsec(), about.len());
    if tag == Some(fresh.as_str()) {
        return Ok(PlacedObject::Same);
    }
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > most {
        return Err(PlaceFault::TooLarge(most));
    }
    Ok(PlacedObject::Found { bytes, tag: Some(fresh), server_time: None })
}

/// Writes a file, with folders of its own; the place itself is made by [`FolderPlace::prepare`]
/// alone: what is written below a share that is not mounted is lost to the fleet, and in its way.
fn write_file(place: &Path, name: &str, bytes: &[u8]) -> Result<(), PlaceFault> {
    let path = &place.join(name);
    let within = Path::new(name).parent().unwrap_or(Path::new("")).components();
    let write = || {
        let mut folder = place.to_path_buf();
        for part in within {
            folder.push(part);
            match std::fs::create_dir(&folder) {
                Err(why) if why.kind() != ErrorKind::AlreadyExists => return Err(why),
                Ok(()) | Err(_) => {}
            }
        }
        let file = FileReplacement {
            path,
            // Edges of other users read it; nothing secret is in it unsealed.
            access: FileAccess::Public,
            draft: DraftName::Hidden,
            durability: NameDurability::Tried,
        };
        file.write(bytes)
    };
    write().map(drop).map_err(|why: io::Error| match why.kind() {
        ErrorKind::NotFound => PlaceFault::Unreachable("the folder is not there".into()),
        _ => PlaceFault::Refused(why.to_string()),
    })
}
