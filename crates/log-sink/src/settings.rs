//! Settings that every log shares: a file, or a syslog server.

use crate::syslog::SyslogAddress;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// Longest name of a program in a message (RFC 5424 §6).
const TAG_BYTES_MAX: usize = 48;

/// A syslog server: its address, or in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SyslogChoice {
    /// `udp://HOST:PORT`, `tcp://HOST:PORT` or `unix:///PATH`.
    Address(String),
    /// The address, and what messages carry.
    Detailed(SyslogSettings),
}

/// A syslog server. Messages have the form of RFC 5424; over TCP each has its length before it (RFC
/// 6587 §3.4.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SyslogSettings {
    /// The server: `udp://HOST:PORT`, `tcp://HOST:PORT` or `unix:///dev/log`. No default.
    pub address: String,
    /// Facility of messages: `user`, `daemon`, `auth`, `authpriv` or `local0` to `local7`. Default
    /// `daemon`.
    pub facility: SyslogFacility,
    /// Name of the program in messages (APP-NAME): at most 48 printable ASCII characters without
    /// blanks. Default `tidegate`.
    pub tag: String,
}

/// Facilities of syslog (RFC 5424 §6.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SyslogFacility {
    /// Programs of users.
    User,
    /// Servers.
    #[default]
    Daemon,
    /// Logins and security.
    Auth,
    /// The same, for few readers.
    Authpriv,
    /// For local use.
    Local0,
    /// For local use.
    Local1,
    /// For local use.
    Local2,
    /// For local use.
    Local3,
    /// For local use.
    Local4,
    /// For local use.
    Local5,
    /// For local use.
    Local6,
    /// For local use.
    Local7,
}

impl SyslogFacility {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::User => 1,
            Self::Daemon => 3,
            Self::Auth => 4,
            Self::Authpriv => 10,
            Self::Local0 => 16,
            Self::Local1 => 17,
            Self::Local2 => 18,
            Self::Local3 => 19,
            Self::Local4 => 20,
            Self::Local5 => 21,
            Self::Local6 => 22,
            Self::Local7 => 23,
        }
    }
}

impl Default for SyslogSettings {
    fn default() -> Self {
        let facility = SyslogFacility::default();
        Self { address: String::new(), facility, tag: "tidegate".into() }
    }
}

impl SyslogChoice {
    /// The settings.
    pub fn settings(&self) -> SyslogSettings {
        match self {
            Self::Address(address) => {
                SyslogSettings { address: address.clone(), ..SyslogSettings::default() }
            }
            Self::Detailed(settings) => settings.clone(),
        }
    }

    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let (settings, path) = match self {
            Self::Address(_) => (self.settings(), ""),
            Self::Detailed(settings) => (settings.clone(), "address"),
        };
        let mut complaints = Vec::new();
        if let Err(why) = settings.address.parse::<SyslogAddress>() {
            let complaint = Complaint::new(path, why.to_string());
            complaints
                .push(complaint.remedy("write udp://HOST:514, tcp://HOST:601 or unix:///dev/log"));
        }
        let tag = settings.tag.as_bytes();
        let is_name = (1..=TAG_BYTES_MAX).contains(&tag.len());
        if !is_name || !tag.iter().all(u8::is_ascii_graphic) {
            let message = "a tag is 1 to 48 printable ASCII characters without blanks";
            complaints.push(Complaint::new("tag", message).remedy("write tag: tidegate"));
        }
        complaints
    }
}

/// Says whether a log's `file` can be one.
pub fn check_file(path: &str, file: &str) -> Option<Complaint> {
    let is_wrong = file.is_empty() || file.contains('\0') || file.ends_with('/');
    is_wrong.then(|| {
        let complaint = Complaint::new(path, "it names no file");
        complaint.remedy("write a path, as /var/log/tidegate/access.log, or stdout")
    })
}

/// Says what is wrong with a log's place: a file or a syslog server, and not both.
pub fn check_place(file: &str, syslog: Option<&SyslogChoice>) -> Vec<Complaint> {
    match syslog {
        None => check_file("file", file).into_iter().collect(),
        Some(_) if !file.is_empty() => {
            let complaint =
                Complaint::new("syslog", "lines go to a file or to syslog, not to both");
            vec![complaint.remedy("leave file or syslog out")]
        }
        Some(syslog) => syslog.check().into_iter().map(|it| it.under("syslog")).collect(),
    }
}
