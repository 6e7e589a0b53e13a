//! Settings of access logs: `access_log` of a site.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// An access log: the path of its file, or in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AccessLogChoice {
    /// This file, in the combined format.
    File(String),
    /// The file and how to write it.
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

/// An access log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccessLogSettings {
    /// The file to append to; a relative path starts from the configuration's folder. `stdout` is
    /// the standard output. It is reopened on SIGUSR1 and on reload. No default.
    pub file: String,
    /// `common`, `combined` or `json`. Default `combined`.
    pub format: LogFormat,
}

impl AccessLogChoice {
    /// The settings.
    pub fn settings(&self) -> AccessLogSettings {
        match self {
            Self::File(file) => {
                AccessLogSettings { file: file.clone(), format: LogFormat::default() }
            }
            Self::Detailed(settings) => settings.clone(),
        }
    }

    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let (settings, path) = match self {
            Self::File(_) => (self.settings(), ""),
            Self::Detailed(settings) => (settings.clone(), "file"),
        };
        if settings.file.is_empty() || settings.file.contains('\0') || settings.file.ends_with('/')
        {
            let complaint = Complaint::new(path, "an access log is a file");
            return vec![complaint.remedy("write access_log: /var/log/tidegate/access.log")];
        }
        Vec::new()
    }
}
