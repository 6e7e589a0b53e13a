//! Settings of access logs: `access_log` of a site, of the gateway, of the proxy.

use crate::template::{LineTemplate, TEMPLATE_BYTES_MAX};
use ledger::AnonymiseMode;
use log_sink::{SyslogChoice, check_file, check_place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// An access log: the path of its file, or in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AccessLogChoice {
    /// This file, in the combined format.
    File(String),
    /// Where to, and how a line is written.
    Detailed(AccessLogSettings),
}

/// The form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Apache's common log format.
    Common,
    /// The same with referrer and user agent: what most tools read.
    #[default]
    Combined,
    /// One JSON object a line.
    Json,
}

/// The part of a query that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoggedQuery {
    /// Without values that look like secrets.
    #[default]
    Redacted,
    /// All of it.
    Whole,
    /// Nothing.
    None,
}

/// The way in which values are written into a template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TemplateEscape {
    /// `\xHH` for what is not printable ASCII, `-` for nothing.
    #[default]
    Default,
    /// As a string of JSON has it.
    Json,
}

/// An access log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccessLogSettings {
    /// The file to append to; a relative path starts from the configuration's folder. `stdout` is
    /// the standard output. It is reopened on SIGUSR1 and on reload. No default.
    pub file: String,
    /// A syslog server in place of a file: `udp://HOST:PORT`, `tcp://HOST:PORT`,
    /// `unix:///dev/log`, or in detail. Default none.
    pub syslog: Option<SyslogChoice>,
    /// `common`, `combined` or `json`. Default `combined`.
    pub format: Option<LogFormat>,
    /// A form of one's own in place of `format`, with nginx's fields: `$remote_addr $request_time
    /// "$request"`. At most 4096 bytes. Default none.
    pub template: Option<String>,
    /// The way in which values are written into `template`: `default` or `json`. Default
    /// `default`.
    pub escape: TemplateEscape,
    /// The part of queries that is written, of the request's and of `Referer`'s: all but values
    /// that look like secrets (`redacted`), everything (`whole`) or nothing (`none`). Default
    /// `redacted`.
    pub query: LoggedQuery,
    /// Part of a client's address that is written: all of it (`none`), or its network (`network`:
    /// IPv4 /24, IPv6 /48). Default `none`.
    pub anonymise: Option<AnonymiseMode>,
}

impl AccessLogChoice {
    /// The settings.
    pub fn settings(&self) -> AccessLogSettings {
        match self {
            Self::File(file) => {
                AccessLogSettings { file: file.clone(), ..AccessLogSettings::default() }
            }
            Self::Detailed(settings) => settings.clone(),
        }
    }

    /// The file that it appends to, if it is one.
    pub fn file(&self) -> Option<String> {
        let file = self.settings().file;
        (!matches!(file.as_str(), "" | "stdout" | "stderr")).then_some(file)
    }

    /// Everything that is wrong with a setting that may be absent, below `access_log`.
    pub fn check_if(choice: Option<&Self>) -> impl Iterator<Item = Complaint> {
        choice.into_iter().flat_map(Self::check).map(|it| it.under("access_log"))
    }

    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        match self {
            Self::File(file) => check_file("", file).into_iter().collect(),
            Self::Detailed(settings) => settings.check(),
        }
    }
}

impl AccessLogSettings {
    fn check(&self) -> Vec<Complaint> {
        let mut complaints = check_place(&self.file, self.syslog.as_ref());
        match &self.template {
            Some(_) if self.format.is_some() => complaints.push(
                Complaint::new("template", "a line has a format or a template, not both")
                    .remedy("leave one of them out"),
            ),
            Some(template) => {
                complaints.extend(
                    LineTemplate::parse(template).err().map(|why| {
                        Complaint::new("template", why.to_string()).remedy(why.remedy())
                    }),
                );
            }
            None if self.escape == TemplateEscape::Json => complaints.push(
                Complaint::new("escape", "only a template has values to escape")
                    .remedy("write a template, or leave escape out"),
            ),
            None => {}
        }
        complaints
    }
}

const _: () = assert!(TEMPLATE_BYTES_MAX == 4096, "the manual says so");
