//! An archive or a database of any bytes: read within bounds, or refused.
#![no_main]

use archive_folders::ArchiveFolder;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    if let Ok(Some(folder)) = ArchiveFolder::of_bytes(data) {
        for name in folder.list(Path::new("")).unwrap_or_default() {
            let path = Path::new(&name);
            assert!(folder.list(path).is_ok() || folder.read(path).is_ok(), "{name}");
        }
    }
});
