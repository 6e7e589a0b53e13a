//! Settings of the program's log: the `log` section of the configuration.

use log_sink::{SyslogChoice, check_place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeMap;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// The name under `file` that stands for the journal.
pub(crate) const JOURNAL_NAME: &str = "journald";
/// Longest time for which repeats are counted.
const REPEATS_MAX: Duration = Duration::from_hours(1);

/// The program's own log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProgramLogSettings {
    /// The least severe messages that are written: `error`, `warn`, `info` or `debug`. Default
    /// `info`.
    pub level: LogLevel,
    /// The same for single parts of the program: `program`, `dns`, `pixel`, `proxy`, `web`,
    /// `gateway`, `lists`, `policy`, `cache`, `signer` or `logs`. Default: as `level` says.
    pub targets: BTreeMap<LogPart, LogLevel>,
    /// The form of a line: `text`, `text_time` (with the time before it), `json`, `journald` (with
    /// the severity before it, as `<4>`), or `auto`: `text`, unless standard error leads to the
    /// journal, which then gets entries with fields as under `file: journald`. A syslog server gets
    /// `text` or `json`. Default `auto`.
    pub format: LogForm,
    /// The file to append to; a relative path starts from the configuration's folder. `stderr` and
    /// `stdout` are the standard streams; `journald` is the journal of systemd by its own protocol,
    /// whose entries have `PRIORITY`, `TIDEGATE_PART`, `CODE_FILE` and `CODE_LINE` as fields. A
    /// file is reopened on SIGUSR1 and on reload. Default `stderr`.
    pub file: Option<String>,
    /// A syslog server in place of a file: `udp://HOST:PORT`, `tcp://HOST:PORT`,
    /// `unix:///dev/log`, or in detail. Default none.
    pub syslog: Option<SyslogChoice>,
    /// Time for which the same message is written once; those that come meanwhile are counted, and
    /// told at its end. `0` writes all of them. Default 30s, at most 1h.
    pub repeats: Text<TimeSpan>,
}

/// Severity of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Something does not work, and stays so.
    Error,
    /// Something did not work, or soon will not.
    Warn,
    /// Something was done.
    #[default]
    Info,
    /// Details that may help to find a fault.
    Debug,
}

/// The form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogForm {
    /// `text`, or entries of the journal where standard error leads there.
    #[default]
    Auto,
    /// `warn gateway: …`.
    Text,
    /// `2026-11-21T17:29:07.005Z warn gateway: …`.
    TextTime,
    /// One JSON object a line.
    Json,
    /// `<4>gateway: …`.
    Journald,
}

/// A part of the program that speaks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum LogPart {
    /// Start, reload and end.
    Program,
    /// The DNS door.
    Dns,
    /// The pixel door.
    Pixel,
    /// The proxy door.
    Proxy,
    /// The web door.
    Web,
    /// The gateway.
    Gateway,
    /// Lists that are fetched and read.
    Lists,
    /// The script of the policy, and temporary leaves.
    Policy,
    /// Caches on disk.
    Cache,
    /// Certificates.
    Signer,
    /// Logs that lose lines.
    Logs,
    /// The fleet that this machine is part of.
    Fleet,
}

impl LogPart {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Program,
        Self::Dns,
        Self::Pixel,
        Self::Proxy,
        Self::Web,
        Self::Gateway,
        Self::Lists,
        Self::Policy,
        Self::Cache,
        Self::Signer,
        Self::Logs,
        Self::Fleet,
    ];

    /// The name, as messages have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Dns => "dns",
            Self::Pixel => "pixel",
            Self::Proxy => "proxy",
            Self::Web => "web",
            Self::Gateway => "gateway",
            Self::Lists => "lists",
            Self::Policy => "policy",
            Self::Cache => "cache",
            Self::Signer => "signer",
            Self::Logs => "logs",
            Self::Fleet => "fleet",
        }
    }

    /// The part of this name. What a library logs is of none, and is not written.
    pub(crate) fn of(target: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.as_str() == target)
    }
}

impl Default for ProgramLogSettings {
    fn default() -> Self {
        Self {
            level: LogLevel::default(),
            targets: BTreeMap::new(),
            format: LogForm::default(),
            file: None,
            syslog: None,
            repeats: Text(TimeSpan(Duration::from_secs(30))),
        }
    }
}

impl ProgramLogSettings {
    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let named = self.file.as_deref().map_or(Some(""), Some);
        let mut complaints = match (&self.file, &self.syslog) {
            (None, None) => Vec::new(),
            (_, syslog) => check_place(named.unwrap_or_default(), syslog.as_ref()),
        };
        if self.repeats.0.0 > REPEATS_MAX {
            let complaint = Complaint::new("repeats", "repeats are counted for an hour at most");
            complaints.push(complaint.remedy("write repeats: 30s"));
        }
        if self.syslog.is_some() && self.format == LogForm::Journald {
            let complaint = Complaint::new("format", "a syslog server is told the severity anyway");
            complaints.push(complaint.remedy("write format: text or json"));
        }
        if self.file.as_deref() == Some(JOURNAL_NAME) && self.format != LogForm::Auto {
            let complaint =
                Complaint::new("format", "entries of the journal have a form of their own");
            complaints.push(complaint.remedy("leave format out, or write file: stderr"));
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_right_and_a_place_too_many_is_refused() {
        assert_eq!(ProgramLogSettings::default().check(), []);
        let syslog = Some(SyslogChoice::Address("udp://h:514".into()));
        let file = Some("a.log".to_owned());
        let both =
            ProgramLogSettings { syslog: syslog.clone(), file, ..ProgramLogSettings::default() };
        assert_eq!(both.check()[0].path, "syslog");
        let format = LogForm::Journald;
        assert_eq!(
            ProgramLogSettings { format, syslog, ..ProgramLogSettings::default() }.check()[0].path,
            "format"
        );
        let file = Some(JOURNAL_NAME.to_owned());
        assert_eq!(
            ProgramLogSettings { format, file, ..ProgramLogSettings::default() }.check()[0].path,
            "format"
        );
        let file = Some(String::new());
        assert_eq!(
            ProgramLogSettings { file, ..ProgramLogSettings::default() }.check()[0].path,
            "file"
        );
    }
}
