//! Any tar file as a backup: it is refused, or whole, and reading it ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use state_archive::check_archive;

fuzz_target!(|data: &[u8]| {
    let packed = zstd::encode_all(data, 1).expect("memory takes everything");
    let whole = check_archive(&packed[..]);
    // What is cut off is no backup.
    if whole.is_err() {
        return;
    }
    assert!(check_archive(&packed[..packed.len() / 2]).is_err());
});
