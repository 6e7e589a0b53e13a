//! The files of a configuration: those that are named, and those that patterns name.
//!
//! They are handed in by the surroundings; it opens none. Called by the readers of each program.

use crate::flow::ROUTES_MAX;
use import_report::{ImportFault, ImportSurroundings, NotePlace};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that a pattern may name, before it is too many.
const FILES_MAX: usize = 500;

/// The files of paths, of which some may be folders.
fn files_in(paths: &[PathBuf], around: &dyn ImportSurroundings) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in paths {
        match around.list(path) {
            Ok(names) => {
                let plain = names.iter().filter(|it| !it.starts_with('.') && !it.ends_with('~'));
                let found = plain.map(|name| path.join(name));
                files.extend(found.filter(|it| around.list(it).is_err()));
            }
            Err(_) => files.push(path.clone()),
        }
    }
    files
}

/// A file of the configuration.
pub struct ConfigSource {
    /// Where it is.
    pub path: PathBuf,
    /// The same, for reports.
    pub name: Arc<str>,
    /// All of it.
    pub text: String,
}

/// The files in `paths`, read one after the other.
pub fn sources<'a>(
    paths: &[PathBuf],
    around: &'a dyn ImportSurroundings,
) -> impl Iterator<Item = Result<ConfigSource, Vec<ImportFault>>> + use<'a> {
    files_in(paths, around).into_iter().map(|path| {
        let name: Arc<str> = path.to_string_lossy().as_ref().into();
        match around.read(&path) {
            Ok(text) => Ok(ConfigSource { path, name, text }),
            Err(why) => Err(vec![ImportFault::new(&NotePlace::new(&name, 0), why.to_string())]),
        }
    })
}

/// The fault of configurations that come to more routes than a gateway has; `parts` says of what
/// fewer are to be imported.
pub fn too_many_routes(paths: &[PathBuf], parts: &str) -> Vec<ImportFault> {
    let most = ROUTES_MAX;
    let place = NotePlace::new(&shown(paths), 0);
    let fault = ImportFault::new(&place, format!("it comes to more than {most} routes"));
    vec![fault.remedy(format!("import fewer {parts} at once"))]
}

/// The paths as they were named.
pub fn named(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|it| it.to_string_lossy().into_owned()).collect()
}

/// The first path, for what is said of all of it.
pub fn shown(paths: &[PathBuf]) -> Arc<str> {
    paths.first().map_or_else(|| "".into(), |it| it.to_string_lossy().as_ref().into())
}

/// The files that a pattern names, in their order; one without stars names itself.
pub fn files_of(around: &dyn ImportSurroundings, pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy().into_owned();
        if !text.contains(['*', '?']) {
            for it in &mut found {
                it.push(&text);
            }
            continue;
        }
        let mut deeper = Vec::new();
        for folder in &found {
            let mut names = match around.list(folder) {
                Ok(names) => names,
                Err(why) if why.kind() == io::ErrorKind::NotFound => Vec::new(),
                // What cannot be read is not passed over: the pattern itself is no file.
                Err(_) => vec![text.clone()],
            };
            names.retain(|name| glob_fits(&text, name) && (!name.starts_with('.')));
            names.sort();
            deeper.extend(names.into_iter().map(|name| folder.join(name)));
        }
        deeper.truncate(FILES_MAX + 1);
        found = deeper;
    }
    found
}

/// True if a name fits a pattern of a shell.
fn glob_fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(it) if *it == '?' || *it == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, from)) = star else { return false };
                p = at + 1;
                n = from + 1;
                star = Some((at, n));
            }
        }
    }
    pattern[p..].iter().all(|it| *it == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns_of_a_shell() {
        for (pattern, yes, no) in [("*.conf", "a.conf", "a.conf~"), ("?a*b*", "xa-b", "a-b")] {
            assert!(glob_fits(pattern, yes) && !glob_fits(pattern, no));
        }
    }
}
