//! Scripts that were files of the site a moment ago: they are asked for without another look.
//!
//! The server of scripts looks itself, and answers 404 for one that has gone since. It keeps what
//! was found, never what was not: a new script is there at once. Called by `look`.

use quick_cache::sync::Cache;
use vocab::Now;

/// Scripts that are remembered; those asked for most stay.
const SCRIPTS_MAX: usize = 1024;
/// Time for which one is trusted to be there, as long as a file that nobody watches.
const TRUST_MS: u64 = 1_000;

/// The scripts of one site that were found lately, by their path below its root.
pub(crate) struct SeenScripts(Cache<Box<str>, u64>);

impl SeenScripts {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self(Cache::new(SCRIPTS_MAX))
    }

    /// True for a script that was found less than a second ago.
    pub(crate) fn has(&self, path: &str, now: Now) -> bool {
        self.0.get(path).is_some_and(|since| now.mono_ms.saturating_sub(since) < TRUST_MS)
    }

    /// Notes that it was found.
    pub(crate) fn note(&self, path: &str, now: Now) {
        self.0.insert(path.into(), now.mono_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_trusted_for_a_second_and_no_longer() {
        let at = |mono_ms| Now { unix_ms: 0, mono_ms };
        let seen = SeenScripts::new();
        assert!(!seen.has("a.php", at(10)));
        seen.note("a.php", at(10));
        assert!(seen.has("a.php", at(10)) && seen.has("a.php", at(1_009)));
        assert!(!seen.has("a.php", at(1_010)) && !seen.has("b.php", at(10)));
    }

    #[test]
    fn no_number_of_paths_takes_more_than_its_memory() {
        let now = Now { unix_ms: 0, mono_ms: 0 };
        let seen = SeenScripts::new();
        for number in 0..10 * SCRIPTS_MAX {
            seen.note(&format!("{number}.php"), now);
        }
        assert!(seen.0.len() <= SCRIPTS_MAX);
    }
}
