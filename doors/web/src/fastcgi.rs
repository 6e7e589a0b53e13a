//! `FastCGI`: which paths are scripts that another program answers over a socket.
//!
//! A pattern of paths says which program. The script must be a file of the site unless its folder
//! is elsewhere. The `cgi` crate asks it. Called by `look` and `script`.

mod settings;

pub(crate) use self::settings::check;
pub use self::settings::{FastcgiChoice, FastcgiSettings};

use crate::forbidden_files;
use crate::pattern::PathPattern;
use cgi::{FastcgiAddress, FastcgiOptions, ScriptAnswer, ScriptCall, ScriptFailure};
use http_engine::Body;
use ledger::Ledger;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use vocab::Now;

/// The programs of one site.
pub(crate) struct FastcgiServers {
    servers: Vec<(PathPattern, Arc<FastcgiServer>)>,
    /// Patterns of endings, in lower case: what they match is a script's source, whatever its case.
    sources: Vec<PathPattern>,
}

/// One program.
pub(crate) struct FastcgiServer {
    settings: FastcgiSettings,
    server: cgi::FastcgiServer,
}

/// The script that a path leads to.
pub(crate) struct FoundScript {
    pub(crate) server: Arc<FastcgiServer>,
    /// Path in the URL.
    pub(crate) name: String,
    /// What follows it.
    pub(crate) path_info: String,
}

/// Tells whether a script is looked for before it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptLookup {
    /// Must be a file of the site.
    Local,
    /// The server has a folder of its own.
    Remote,
}

impl FastcgiServers {
    /// With settings that are right; what is not is passed over.
    pub(crate) fn new(settings: &BTreeMap<String, FastcgiChoice>) -> Self {
        let server = |choice: &FastcgiChoice| {
            let settings = choice.settings();
            let server = cgi::FastcgiServer::new(options(&settings)?);
            Some(Arc::new(FastcgiServer { settings, server }))
        };
        let compiled = |pattern: &str, choice: &FastcgiChoice| {
            let case = choice.settings().ignore_case;
            let pattern = if case { pattern.to_ascii_lowercase() } else { pattern.to_owned() };
            Some((PathPattern::whole(&pattern).ok()?, server(choice)?))
        };
        let mut servers: Vec<_> =
            settings.iter().filter_map(|(pattern, choice)| compiled(pattern, choice)).collect();
        // The longest pattern says the most.
        servers.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
        // Others are of folders, where names of another case are other files.
        let is_ending = |pattern: &&String| {
            pattern.rsplit_once('*').is_some_and(|(_, ending)| ending.starts_with('.'))
        };
        let sources = settings.keys().filter(is_ending);
        let sources = sources.filter_map(|it| PathPattern::whole(&it.to_ascii_lowercase()).ok());
        Self { servers, sources: sources.collect() }
    }

    /// True for a path that is a script's but for the case of its letters or the ending that an
    /// editor or a person gives to a copy (`x.php~`, `x.php.bak`): it is not run, and its source is
    /// not sent.
    pub(crate) fn is_source(&self, path: &str) -> bool {
        if self.sources.is_empty() {
            return false;
        }
        let copied = forbidden_files::original(path);
        if copied.is_none() && !path.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return false;
        }
        let path = copied.unwrap_or(path).to_ascii_lowercase();
        self.sources.iter().any(|pattern| pattern.matches(&path))
    }

    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The script of a decoded path, which begins with a slash.
    pub(crate) fn script(&self, path: &str) -> Option<FoundScript> {
        self.servers.iter().find_map(|(pattern, server)| {
            let (name, path_info) = server.split(path);
            let is_meant = if server.settings.ignore_case {
                pattern.matches(&name.to_ascii_lowercase())
            } else {
                pattern.matches(name)
            };
            let server = Arc::clone(server);
            is_meant.then(|| FoundScript {
                server,
                name: name.to_owned(),
                path_info: path_info.to_owned(),
            })
        })
    }

    /// The index scripts of a folder's path, which ends in a slash, in the order to try them.
    pub(crate) fn indexes(&self, folder: &str) -> impl Iterator<Item = FoundScript> {
        let fits = |(pattern, server): &(PathPattern, Arc<FastcgiServer>)| {
            let index = &server.settings.index;
            let name = [folder, index].concat();
            let server = Arc::clone(server);
            let seen =
                if server.settings.ignore_case { name.to_ascii_lowercase() } else { name.clone() };
            (!index.is_empty() && pattern.matches(&seen)).then_some(FoundScript {
                server,
                name,
                path_info: String::new(),
            })
        };
        self.servers.iter().filter_map(fits).collect::<Vec<_>>().into_iter()
    }

    /// Connections opened so far.
    pub(crate) fn connections(&self) -> u32 {
        self.servers.iter().map(|(_, server)| server.server.opened()).sum()
    }

    /// Asks a script. `call.body_len` is filled in here.
    pub(crate) async fn ask(
        &self,
        script: &FoundScript,
        call: ScriptCall<'_>,
        body: Body,
        ledger: &Ledger,
        now: Now,
    ) -> Result<ScriptAnswer, ScriptFailure> {
        script.server.server.ask(call, body, ledger, now).await
    }
}

/// The options of a server; none where its address is none.
fn options(settings: &FastcgiSettings) -> Option<FastcgiOptions> {
    Some(FastcgiOptions {
        address: FastcgiAddress::parse(&settings.server).ok()?,
        keep: settings.keep,
        connections: settings.connections,
        params: settings.params.clone(),
        root: settings.root.as_ref().map(PathBuf::from),
        timeout: settings.timeout.0.0,
        body_max: settings.body_max.bytes(),
    })
}

impl FastcgiServer {
    /// A path at the end of the script's name.
    fn split<'p>(&self, path: &'p str) -> (&'p str, &'p str) {
        let mark = &self.settings.split_path;
        if !self.settings.ignore_case {
            return split(path, mark);
        }
        // ASCII letters of both cases have one length.
        let end = split(&path.to_ascii_lowercase(), &mark.to_ascii_lowercase()).0.len();
        path.split_at(end)
    }
}

impl FoundScript {
    /// Where its file is looked for.
    pub(crate) fn lookup(&self) -> ScriptLookup {
        if self.server.settings.root.is_some() { ScriptLookup::Remote } else { ScriptLookup::Local }
    }

    /// Returns its path below the root of the site at `prefix`, from the slash. `prefix` begins and
    /// ends with one.
    pub(crate) fn below<'s>(&'s self, prefix: &str) -> &'s str {
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        self.name.strip_prefix(prefix).unwrap_or(&self.name)
    }
}

/// Where the script's name ends: after the first `mark` at whose end a part of the path ends.
fn split<'p>(path: &'p str, mark: &str) -> (&'p str, &'p str) {
    if mark.is_empty() {
        return (path, "");
    }
    let ends = path.match_indices(mark).map(|(at, _)| at + mark.len());
    let end = ends.into_iter().find(|end| path[*end..].is_empty() || path[*end..].starts_with('/'));
    path.split_at(end.unwrap_or(path.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_name_ends_at_the_mark_and_a_slash() {
        let check = |path: &str, name: &str, info: &str| {
            assert_eq!(split(path, ".php"), (name, info), "{path}");
        };
        check("/a.php", "/a.php", "");
        check("/a.php/b/c", "/a.php", "/b/c");
        check("/a.php/", "/a.php", "/");
        check("/a.phpx/b.php/c", "/a.phpx/b.php", "/c");
        check("/a.jpg/x.php", "/a.jpg/x.php", "");
        check("/a.txt", "/a.txt", "");
        assert_eq!(split("/a/b", ""), ("/a/b", ""));
    }

    #[test]
    fn a_script_of_another_case_is_run_if_that_is_wished_and_its_source_never_sent() {
        let settings = |ignore_case| FastcgiSettings {
            server: "tcp://127.0.0.1:1".into(),
            ignore_case,
            ..FastcgiSettings::default()
        };
        let fastcgi = |ignore_case| {
            let choice = || FastcgiChoice::Detailed(settings(ignore_case));
            FastcgiServers::new(&BTreeMap::from([
                ("*.php".to_owned(), choice()),
                ("/In/*".to_owned(), choice()),
            ]))
        };
        let (exact, any) = (fastcgi(false), fastcgi(true));
        for path in ["/x.PHP", "/a/x.Php", "/x.php~", "/x.php.bak", "/a/x.PHP.orig"] {
            assert!(exact.script(path).is_none() && exact.is_source(path), "{path}");
        }
        for path in ["/x.txt", "/X.TXT", "/in/a", "/README", "/x.txt.bak", "/a~", "/.bak"] {
            assert!(exact.script(path).is_none() && !exact.is_source(path), "{path}");
        }
        let script = any.script("/A.PHP/x").unwrap();
        assert_eq!((script.name.as_str(), script.path_info.as_str()), ("/A.PHP", "/x"));
        assert!(any.script("/iN/a").is_some() && exact.script("/In/a").is_some());
    }

    #[test]
    fn the_longest_pattern_counts_and_indexes_are_its_own() {
        let choice = |server: &str| FastcgiChoice::Address(server.into());
        let all = BTreeMap::from([
            ("*.php".to_owned(), choice("tcp://127.0.0.1:1")),
            ("/admin/*.php".to_owned(), choice("tcp://127.0.0.1:2")),
        ]);
        let fastcgi = FastcgiServers::new(&all);
        let script = fastcgi.script("/admin/a.php/x").unwrap();
        assert_eq!(script.server.settings.server, "tcp://127.0.0.1:2");
        assert_eq!((script.name.as_str(), script.path_info.as_str()), ("/admin/a.php", "/x"));
        assert!(fastcgi.script("/a.txt").is_none());
        let indexes: Vec<_> = fastcgi.indexes("/blog/").map(|it| it.name).collect();
        assert_eq!(indexes, ["/blog/index.php"]);
    }
}
