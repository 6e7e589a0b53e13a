//! Settings of the query log: `dns.query_log`.

use ledger::AnonymiseMode;
use log_sink::{SyslogChoice, check_file, check_place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// The query log: the path of its file, or in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum QueryLogChoice {
    /// This file.
    File(String),
    /// Where to, and what is left out.
    Detailed(QueryLogSettings),
}

/// The query log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QueryLogSettings {
    /// The file to append to; a relative path starts from the configuration's folder. `stdout` is
    /// the standard output. It is reopened on SIGUSR1 and on reload. No default.
    pub file: String,
    /// A syslog server in place of a file: `udp://HOST:PORT`, `tcp://HOST:PORT`,
    /// `unix:///dev/log`, or in detail. Default none.
    pub syslog: Option<SyslogChoice>,
    /// Part of a client's address that is written: all of it (`none`), or its network (`network`:
    /// IPv4 /24, IPv6 /48). Default `none`.
    pub anonymise: Option<AnonymiseMode>,
}

impl QueryLogChoice {
    /// The settings.
    pub fn settings(&self) -> QueryLogSettings {
        match self {
            Self::File(file) => {
                QueryLogSettings { file: file.clone(), ..QueryLogSettings::default() }
            }
            Self::Detailed(settings) => settings.clone(),
        }
    }

    /// The file that it appends to, if it is one.
    pub fn file(&self) -> Option<String> {
        let file = self.settings().file;
        (!matches!(file.as_str(), "" | "stdout" | "stderr")).then_some(file)
    }

    /// Everything that is wrong with a setting that may be absent, below `query_log`.
    pub fn check_if(choice: Option<&Self>) -> impl Iterator<Item = Complaint> {
        choice.into_iter().flat_map(Self::check).map(|it| it.under("query_log"))
    }

    fn check(&self) -> Vec<Complaint> {
        match self {
            Self::File(file) => check_file("", file).into_iter().collect(),
            Self::Detailed(it) => check_place(&it.file, it.syslog.as_ref()),
        }
    }
}
