//! Sizes of crates: lines, and the binaries that their tests are linked into.
//!
//! Called by [`crate::tidy`].

use crate::finding::Finding;
use crate::limits::{CRATE_LINES_MAX, CRATE_LINES_STEP, TEST_BINARIES_MAX};
use crate::ratchet::Gauge;
use crate::shipped::ShippedSource;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Lines of each crate, those of its tests excluded.
pub(crate) fn crate_lines(sources: &[ShippedSource]) -> Vec<Gauge> {
    let mut crates: BTreeMap<&Path, usize> = BTreeMap::new();
    for source in sources {
        *crates.entry(source.crate_folder()).or_default() += source.lines;
    }
    let gauge = |(folder, count): (&Path, usize)| Gauge {
        table: "crate_lines",
        name: folder.display().to_string(),
        count,
        limit: CRATE_LINES_MAX,
        floor: CRATE_LINES_MAX,
        step: CRATE_LINES_STEP,
        because: "a crate of a size to live in is split before it is larger",
        places: Vec::new(),
    };
    crates.into_iter().map(gauge).collect()
}

/// Binaries of integration tests: each file of a folder `tests`, and each of its folders with a
/// `main.rs`.
pub(crate) fn test_binaries(files: &[PathBuf]) -> Gauge {
    let is_linked = |path: &&PathBuf| match path.iter().rev().take(3).collect::<Vec<_>>()[..] {
        [file, tests, above] if tests == "tests" && above != "src" => {
            Path::new(file).extension() == Some("rs".as_ref())
        }
        [file, _, tests] => file == "main.rs" && tests == "tests",
        _ => false,
    };
    let is_member =
        |path: &&PathBuf| ["crates", "doors", "tests"].iter().any(|it| path.starts_with(it));
    let linked: BTreeSet<_> = files.iter().filter(is_member).filter(is_linked).collect();
    let places: Vec<_> = linked.into_iter().map(|path| Finding::new(path, 0, "a binary")).collect();
    Gauge {
        limit: TEST_BINARIES_MAX,
        floor: TEST_BINARIES_MAX,
        ..Gauge::of_places("tests", "binaries", "linking them is what a build waits for", places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped::shipped;

    #[test]
    fn lines_are_those_that_are_shipped() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {}\n".to_owned();
        let sources = shipped(vec![("crates/a/src/lib.rs".into(), text)]);
        let gauges = crate_lines(&sources);
        assert_eq!((gauges[0].name.as_str(), gauges[0].count), ("crates/a", 1));
    }

    #[test]
    fn a_binary_is_a_file_or_a_folder_of_tests() {
        let files = [
            "crates/a/tests/it/main.rs",
            "crates/a/tests/it/more.rs",
            "crates/a/tests/memory.rs",
            "crates/a/src/tests/mod.rs",
            "tests/src/lib.rs",
            "tests/tests/it/main.rs",
            "fuzz/tests/it.rs",
        ];
        assert_eq!(test_binaries(&files.map(PathBuf::from)).count, 3);
    }
}
