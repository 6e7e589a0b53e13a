//! Says what to do where the dashboard has not been built.

use std::path::Path;

fn main() {
    let dist = Path::new("../../dashboard/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    assert!(
        dist.join("index.html").is_file(),
        "the dashboard is not built: run `make dashboard` first"
    );
}
