//! Files of a site that are never sent, by pattern of path: scripts, whose source is not for
//! readers where nothing runs them.
//!
//! Letters of either case count as the same, and copies beside a file (`x.php~`) as the file. It
//! looks at paths alone. Called by `look` and `listing`; [`check`] by the settings.

use crate::pattern::PathPattern;
use vocab::Complaint;

/// Patterns of one site at most.
const PATTERNS_MAX: usize = 256;
/// Scripts of servers. Those that people also download as text (`.pl`, `.py`, `.rb`) are not among
/// them.
pub(crate) const FORBIDDEN_DEFAULT: [&str; 13] = [
    "*.php", "*.php3", "*.php4", "*.php5", "*.php7", "*.php8", "*.phtml", "*.phar", "*.cgi",
    "*.fcgi", "*.asp", "*.aspx", "*.jsp",
];
/// Endings that editors and people give to copies of a file beside it. The swap files of vi begin
/// with a dot as well, but for those of files that do.
const COPY_ENDINGS: [&str; 8] = ["~", ".bak", ".old", ".orig", ".rej", ".save", ".swp", ".tmp"];

/// The path of the file that `path` is a copy of, if it has the ending of one.
pub(crate) fn original(path: &str) -> Option<&str> {
    COPY_ENDINGS.iter().find_map(|ending| path.strip_suffix(ending))
}

/// The patterns of one site.
pub(crate) struct ForbiddenFiles {
    /// Of the form `*.php`: what follows the last dot, in lower case.
    endings: Vec<Box<str>>,
    /// Others, in lower case.
    patterns: Vec<PathPattern>,
}

impl ForbiddenFiles {
    /// Patterns that [`check`] finds right.
    pub(crate) fn new(patterns: &[String]) -> Self {
        let mut forbidden = Self { endings: Vec::new(), patterns: Vec::new() };
        for pattern in patterns.iter().map(|pattern| pattern.to_ascii_lowercase()) {
            match pattern.strip_prefix("*.") {
                Some(ending) if !ending.contains(['*', '.', '/']) => {
                    forbidden.endings.push(ending.into());
                }
                Some(_) | None => forbidden.patterns.extend(PathPattern::whole(&pattern).ok()),
            }
        }
        forbidden
    }

    /// True for a decoded path, from its slash, that is not sent.
    pub(crate) fn hold(&self, path: &str) -> bool {
        self.hold_exactly(path) || original(path).is_some_and(|path| self.hold_exactly(path))
    }

    fn hold_exactly(&self, path: &str) -> bool {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        self.endings.iter().any(|it| it.eq_ignore_ascii_case(ending))
            || !self.patterns.is_empty() && {
                let path = path.to_ascii_lowercase();
                self.patterns.iter().any(|pattern| pattern.matches(&path))
            }
    }
}

/// Every complaint about the patterns, and about files that the settings name and they forbid;
/// paths are relative to the site.
pub(crate) fn check(patterns: &[String], named: &[(String, &str)]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if patterns.len() > PATTERNS_MAX {
        let message = format!("{} patterns are too many: at most {PATTERNS_MAX}", patterns.len());
        complaints.push(Complaint::new("forbidden_files", message));
    }
    for (index, pattern) in patterns.iter().enumerate() {
        if let Err(why) = PathPattern::whole(pattern) {
            complaints.push(
                Complaint::new(format!("forbidden_files.{index}"), format!("{pattern:?}: {why}"))
                    .remedy("write *.php, or a path such as /private/*"),
            );
        }
    }
    let forbidden = ForbiddenFiles::new(patterns);
    for (path, file) in named.iter().filter(|(_, file)| forbidden.hold(file)) {
        complaints.push(
            Complaint::new(path, format!("{file} is among forbidden_files, and never sent"))
                .remedy("name a fastcgi server that runs it, another file, or forbidden_files"),
        );
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(all: &[&str]) -> Vec<String> {
        all.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn scripts_of_servers_are_not_sent_in_any_case_or_copy() {
        let forbidden = ForbiddenFiles::new(&patterns(&FORBIDDEN_DEFAULT));
        for path in ["/x.php", "/a/x.PHP", "/x.php~", "/x.Php.bak", "/cgi/run.cgi", "/.php"] {
            assert!(forbidden.hold(path), "{path}");
        }
        for path in ["/x.py", "/php", "/x.php.txt", "/x.phpx", "/a.php/b", "/", "/x.txt~", "/x.bak"]
        {
            assert!(!forbidden.hold(path), "{path}");
        }
    }

    #[test]
    fn patterns_may_name_folders_and_names() {
        let forbidden = ForbiddenFiles::new(&patterns(&["/Private/*", "*/notes.txt", "*.tar.gz"]));
        for path in ["/private/a", "/x/notes.txt", "/a.TAR.gz"] {
            assert!(forbidden.hold(path), "{path}");
        }
        assert!(!forbidden.hold("/x.php") && !forbidden.hold("/a.gz"));
        assert!(!ForbiddenFiles::new(&[]).hold("/x.php"));
    }

    #[test]
    fn what_cannot_be_is_told() {
        let named = [("fallback".to_owned(), "/index.php"), ("index.0".to_owned(), "/index.html")];
        let found = check(&patterns(&["*.php", "**********"]), &named);
        let paths: Vec<_> = found.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["forbidden_files.1", "fallback"]);
    }
}
