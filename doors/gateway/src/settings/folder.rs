//! What can be set about a folder that a route serves, and its scripts.
//!
//! Plain data. What a folder's names and addresses must be is said by whoever opens it. Read as
//! part of a route.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeMap;
use std::time::Duration;
use vocab::TimeSpan;

/// A folder as a route has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderSettings {
    /// Where it is on disk; a relative path starts from the configuration's folder.
    pub root: String,
    /// The part of a URL's path that stands for it, from slash to slash, decoded.
    pub path: String,
    /// The pages that stand for a folder.
    pub index: Vec<String>,
    /// True if a folder without one is listed.
    pub listing: bool,
    /// Files that are never sent, by pattern of path; none for those of the web door.
    pub forbidden_files: Option<Vec<String>>,
    /// The file that is served where nothing is found.
    pub fallback: Option<String>,
    /// `FastCGI` servers by pattern of path.
    pub fastcgi: BTreeMap<String, ScriptSettings>,
    /// The longest body that a script is given, in bytes.
    pub body_max: u64,
}

/// A `FastCGI` server: its address, or in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ScriptChoice {
    /// `unix:///PATH`, `tcp://ADDRESS:PORT` or `tcp://NAME:PORT`.
    Address(String),
    /// The address with how to use it.
    Detailed(ScriptSettings),
}

/// A `FastCGI` server and how to use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptSettings {
    /// Where the server is: `unix:///run/php/php-fpm.sock` or `tcp://127.0.0.1:9000`. No default.
    pub server: String,
    /// The script of a folder that has no index file of its own; empty for none. Default
    /// `index.php`.
    pub index: String,
    /// Where a script's name ends in the path; what follows is `PATH_INFO`. Empty: the whole path
    /// is the script. Default `.php`.
    pub split_path: String,
    /// More variables for the scripts, or others in place of ours. At most 256. Default none.
    pub params: BTreeMap<String, String>,
    /// The folder as the server sees it, where that is another one (a container). Scripts are then
    /// not looked for here. Default: the route's root.
    pub root: Option<String>,
    /// A server that neither takes nor says anything for so long is given up: 504. Default 60 s, at
    /// most 1 h.
    pub timeout: Text<TimeSpan>,
    /// Connections at most; more requests wait for their turn. Default 64, 1 to 1024.
    #[schemars(range(min = 1, max = 1024))]
    pub connections: u32,
}

impl Default for ScriptSettings {
    fn default() -> Self {
        Self {
            server: String::new(),
            index: "index.php".into(),
            split_path: ".php".into(),
            params: BTreeMap::new(),
            root: None,
            timeout: Text(TimeSpan(Duration::from_mins(1))),
            connections: 64,
        }
    }
}

impl ScriptChoice {
    pub(super) fn settings(&self) -> ScriptSettings {
        match self {
            Self::Address(server) => {
                ScriptSettings { server: server.clone(), ..Default::default() }
            }
            Self::Detailed(settings) => settings.clone(),
        }
    }
}
