//! What can be set about `FastCGI`: `fastcgi` of a site, by pattern of path.

use crate::pattern::PathPattern;
use cgi::FastcgiAddress;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeMap;
use std::time::Duration;
use vocab::{ByteSize, Complaint, TimeSpan};

/// Patterns of one site.
const PATTERNS_MAX: usize = 64;
/// Parameters of one server.
const PARAMETERS_MAX: usize = 256;
/// The longest time-out: an hour.
const TIMEOUT_MAX: Duration = Duration::from_hours(1);
/// Connections to one server.
const CONNECTIONS_MAX: u32 = 1024;
/// A `FastCGI` server: its address, or in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FastcgiChoice {
    /// `unix:///PATH`, `tcp://ADDRESS:PORT` or `tcp://NAME:PORT`.
    Address(String),
    /// The address with how to use it.
    Detailed(FastcgiSettings),
}

/// A `FastCGI` server and how to use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FastcgiSettings {
    /// Address of the server: `unix:///run/php/php-fpm.sock`, `tcp://127.0.0.1:9000` or
    /// `tcp://php:9000`; a name is looked up by the system's resolver every 30 s. No default.
    pub server: String,
    /// The script of a folder that has no index file of its own; empty for none. Default
    /// `index.php`.
    pub index: String,
    /// Where a script's name ends in the path; what follows is `PATH_INFO`. Empty: the whole path
    /// is the script. Default `.php`.
    pub split_path: String,
    /// Pattern and `split_path` hold whatever the case: `*.php` for `/X.PHP` too, where the file
    /// system knows no case. Otherwise such a file is neither run nor sent: 404. Default false.
    pub ignore_case: bool,
    /// More variables for the scripts, or others in place of ours. At most 256. Default none.
    pub params: BTreeMap<String, String>,
    /// The site's folder as the server sees it, where that is another one (a container). Scripts
    /// are then not looked for here. Default: the site's root.
    pub root: Option<String>,
    /// A server that neither takes nor says anything for so long is given up: 504. Default 60 s, at
    /// most 1 h.
    pub timeout: Text<TimeSpan>,
    /// Connections left open between requests; 0 closes each. Default 8.
    pub keep: u32,
    /// Connections at most; more requests wait for their turn. No more of them than the server has
    /// children (`pm.max_children` of php-fpm) are of use. Default 64, 1 to 1024.
    #[schemars(range(min = 1, max = 1024))]
    pub connections: u32,
    /// The longest body that a script is given: 413. Default 64 MiB.
    pub body_max: Text<ByteSize>,
}

impl Default for FastcgiSettings {
    fn default() -> Self {
        Self {
            server: String::new(),
            index: "index.php".into(),
            split_path: ".php".into(),
            ignore_case: false,
            params: BTreeMap::new(),
            root: None,
            timeout: Text(TimeSpan(Duration::from_mins(1))),
            keep: 8,
            connections: 64,
            body_max: Text(ByteSize(64 << 20)),
        }
    }
}

impl FastcgiChoice {
    /// The settings.
    pub fn settings(&self) -> FastcgiSettings {
        match self {
            Self::Address(server) => {
                FastcgiSettings { server: server.clone(), ..FastcgiSettings::default() }
            }
            Self::Detailed(settings) => settings.clone(),
        }
    }

    /// Everything that is wrong; paths are relative to the pattern's entry.
    pub fn check(&self) -> Vec<Complaint> {
        let settings = self.settings();
        let at = |name: &str| match self {
            Self::Address(_) => String::new(),
            Self::Detailed(_) => name.to_owned(),
        };
        let mut complaints = Vec::new();
        if let Err(why) = FastcgiAddress::parse(&settings.server) {
            complaints.push(Complaint::new(at("server"), why.to_string()).remedy(
                "write unix:///run/php/php-fpm.sock, tcp://127.0.0.1:9000 or tcp://php:9000",
            ));
        }
        if settings.index.contains(['/', '\0']) {
            let complaint = Complaint::new("index", "the index script is a name without a path");
            complaints.push(complaint.remedy("write index: index.php"));
        }
        let wrong = |it: &str| it.contains('\0');
        if settings.params.len() > PARAMETERS_MAX {
            let message = format!("more than {PARAMETERS_MAX} parameters");
            complaints.push(Complaint::new("params", message));
        }
        for (name, value) in &settings.params {
            if name.is_empty() || wrong(name) || wrong(value) {
                let path = format!("params.{name}");
                complaints.push(Complaint::new(path, "a variable has a name, and no NUL"));
            }
        }
        if settings.timeout.0.0.is_zero() || settings.timeout.0.0 > TIMEOUT_MAX {
            let message = "the time-out is from 1ms to 1h";
            complaints.push(Complaint::new("timeout", message).remedy("write timeout: 60s"));
        }
        if settings.connections == 0 || settings.connections > CONNECTIONS_MAX {
            let message = format!("connections are from 1 to {CONNECTIONS_MAX}");
            complaints.push(Complaint::new("connections", message));
        }
        if settings.root.as_deref().is_some_and(|root| !root.starts_with('/')) {
            let message = "the folder as the server sees it is an absolute path";
            complaints.push(Complaint::new("root", message));
        }
        complaints
    }
}

/// Everything that is wrong with the `fastcgi` of a site.
pub(crate) fn check(all: &BTreeMap<String, FastcgiChoice>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if all.len() > PATTERNS_MAX {
        complaints.push(Complaint::new("", format!("more than {PATTERNS_MAX} patterns")));
    }
    for (pattern, choice) in all {
        if !pattern.starts_with(['/', '*']) {
            complaints.push(
                Complaint::new(pattern.clone(), "a pattern of paths begins with / or *")
                    .remedy("write \"*.php\" or \"/app/*\""),
            );
        } else if let Err(why) = PathPattern::whole(pattern) {
            complaints.push(Complaint::new(pattern.clone(), why.to_string()));
        }
        complaints.extend(choice.check().into_iter().map(|it| it.under(pattern)));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_name_the_pattern() {
        let wrong = BTreeMap::from([
            ("*.php".to_owned(), FastcgiChoice::Address("localhost".into())),
            (
                "x.php".to_owned(),
                FastcgiChoice::Detailed(FastcgiSettings {
                    server: "tcp://127.0.0.1:9000".into(),
                    connections: 0,
                    ..FastcgiSettings::default()
                }),
            ),
        ]);
        let paths: Vec<_> = check(&wrong).into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["*.php", "x.php", "x.php.connections"]);
    }
}
