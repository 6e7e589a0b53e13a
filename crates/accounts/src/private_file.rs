//! A file of JSON in the state folder that its owner alone may read.

use durable_file::FileReplacement;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock, also where somebody panicked who had it: what it guards is whole at any time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Contents of a file, and what was wrong with it.
pub(crate) struct ReadFile<T> {
    /// Contents; empty ones where there is no such file, or a damaged one.
    pub(crate) contents: T,
    /// Reason why it is empty though there is a file, with what became of that.
    pub(crate) trouble: Option<String>,
}

/// Reads a file of at most so many bytes. One that cannot be understood is set aside, so that the
/// next change does not overwrite what somebody may still want.
pub(crate) fn read<T: DeserializeOwned + Default>(path: &Path, bytes_max: u64) -> ReadFile<T> {
    let mut text = String::new();
    let why = match File::open(path).and_then(|it| it.take(bytes_max).read_to_string(&mut text)) {
        Err(why) if why.kind() == ErrorKind::NotFound => {
            return ReadFile { contents: T::default(), trouble: None };
        }
        Err(why) => why.to_string(),
        Ok(_) => match serde_json::from_str(&text) {
            Ok(contents) => return ReadFile { contents, trouble: None },
            Err(why) => why.to_string(),
        },
    };
    let mut aside = path.as_os_str().to_owned();
    aside.push(".damaged");
    let kept = match fs::rename(path, &aside) {
        Ok(()) => format!("it is kept as {}", Path::new(&aside).display()),
        Err(why) => format!("it could not be set aside: {why}"),
    };
    let trouble = format!("{}: {why}; nothing of it holds, and {kept}", path.display());
    ReadFile { contents: T::default(), trouble: Some(trouble) }
}

/// Replaces a file as a whole; it is on disk when this is back.
pub(crate) fn write<T: Serialize>(path: &Path, contents: &T) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(contents).map_err(io::Error::other)?;
    FileReplacement::private(path).write(&text).map(drop)
}
