//! Files of a configuration that is imported: one text.

use import_report::ImportSurroundings;
use std::io;
use std::path::Path;

/// A text at `/c`, and `/old.htpasswd` with a hash that nobody takes any more; no other file.
#[derive(Clone, Copy, Debug)]
pub struct OneText<'t>(pub &'t str);

impl ImportSurroundings for OneText<'_> {
    fn read(&self, path: &Path) -> io::Result<String> {
        match path.to_str() {
            Some("/c") => Ok(self.0.into()),
            Some("/old.htpasswd") => Ok("ann:$apr1$x$y\n".into()),
            _ => Err(io::Error::new(io::ErrorKind::NotFound, "not there")),
        }
    }

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        Err(io::Error::new(io::ErrorKind::NotFound, "not there"))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// The routes of a configuration as an import wrote it, in one line each.
///
/// # Panics
/// Panics if it has none.
pub fn route_lines(yaml: &str) -> Vec<String> {
    let begun = yaml.split("  routes:").nth(1).expect("routes");
    if !begun.starts_with('\n') {
        return begun.trim().split("}, { ").map(str::to_owned).collect();
    }
    begun.split("\n    - ").skip(1).map(|it| it.trim().replace("\n     ", "")).collect()
}
