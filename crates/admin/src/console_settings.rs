//! Settings of the line console, which the crate `line-console` serves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use vocab::Complaint;

const SERVICES_MAX: usize = 1_000;

/// The line console: where it listens, or in detail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ConsoleChoice {
    /// Here.
    Address(String),
    /// Here, and who may do what.
    Detailed(ConsoleSettings),
}

/// A line console.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConsoleSettings {
    /// A loopback address and port, or `unix:` and a path, which only the user that Tidegate runs
    /// as may open. A relative path starts from the state folder. No default.
    pub listen: String,
    /// Trust in those who come to an address: `token`, or `loopback` for everybody on this machine.
    /// Default `token`: nothing is changed, and the configuration not shown, before a connection
    /// has sent `auth` and the admin token. Whoever may open a `unix:` path may change everything.
    pub trust: ConsoleTrust,
    /// Names by which `show service` tells listeners, in place of their door's, with the address of
    /// each: `images: 192.0.2.1:80`. At most 1000. Default none.
    pub services: BTreeMap<String, Text<SocketAddr>>,
}

/// Trust in those who come to an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConsoleTrust {
    /// For those who show the admin token.
    #[default]
    Token,
    /// For every program on this machine.
    Loopback,
}

/// Where a console listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsolePlace {
    /// At this port of this machine.
    Loopback(SocketAddr),
    /// At this path.
    Path(PathBuf),
}

/// Why a console does not listen there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsolePlaceError {
    /// Neither an address nor a path.
    NotAPlace(String),
    /// An address that other machines reach.
    NotLoopback(SocketAddr),
}

impl ConsoleChoice {
    /// The settings.
    pub fn settings(&self) -> ConsoleSettings {
        match self {
            Self::Address(listen) => {
                ConsoleSettings { listen: listen.clone(), ..ConsoleSettings::default() }
            }
            Self::Detailed(settings) => settings.clone(),
        }
    }

    /// Every complaint, with paths relative to the console.
    pub(crate) fn check(&self) -> Vec<Complaint> {
        let key = if let Self::Detailed(_) = self { "listen" } else { "" };
        let settings = self.settings();
        match settings.listen.parse() {
            Err(why) => vec![Complaint::new(key, why.to_string()).remedy(why.remedy())],
            Ok(ConsolePlace::Path(_)) if settings.trust == ConsoleTrust::Loopback => {
                let why = "`loopback` is about addresses, and this console listens at a path";
                let remedy = "leave it out: whoever may open the path is trusted";
                vec![Complaint::new("trust", why).remedy(remedy)]
            }
            Ok(_) if settings.services.len() > SERVICES_MAX => {
                let complaint = Complaint::new("services", "more than 1000 names");
                vec![complaint.remedy("name those that you ask for")]
            }
            Ok(_) => Vec::new(),
        }
    }
}

impl FromStr for ConsolePlace {
    type Err = ConsolePlaceError;

    fn from_str(text: &str) -> Result<Self, ConsolePlaceError> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Path(path.into()));
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self::Loopback(address)),
            Ok(address) => Err(ConsolePlaceError::NotLoopback(address)),
            Err(_) => Err(ConsolePlaceError::NotAPlace(text.chars().take(64).collect())),
        }
    }
}

impl ConsolePlaceError {
    fn remedy(&self) -> &'static str {
        match self {
            Self::NotAPlace(_) => "write an address as 127.0.0.1:60000, or unix:/PATH",
            Self::NotLoopback(_) => {
                "listen on 127.0.0.1 or [::1], and come from elsewhere through an SSH tunnel"
            }
        }
    }
}

impl fmt::Display for ConsolePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback(address) => write!(f, "{address}"),
            Self::Path(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for ConsolePlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPlace(text) => write!(f, "{text:?} is neither an address nor a path"),
            Self::NotLoopback(address) => {
                write!(f, "other machines reach {address}, and a console encrypts nothing")
            }
        }
    }
}

impl std::error::Error for ConsolePlaceError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(choice: &ConsoleChoice) -> Vec<String> {
        choice.check().iter().map(|it| format!("{}: {}", it.path, it.message)).collect()
    }

    #[test]
    fn a_console_listens_on_loopback_or_at_a_path() {
        for listen in ["127.0.0.1:60000", "[::1]:60000", "127.9.9.9:1", "unix:console.sock"] {
            assert_eq!(complaints(&ConsoleChoice::Address(listen.into())), [""; 0], "{listen}");
        }
        for listen in ["0.0.0.0:60000", "192.0.2.1:60000", "[::]:60000"] {
            let told = complaints(&ConsoleChoice::Address(listen.into()));
            assert!(told[0].contains("other machines reach"), "{told:?}");
        }
        for listen in ["", "60000", "localhost:60000", "unix:"] {
            let told = complaints(&ConsoleChoice::Address(listen.into()));
            assert!(told[0].contains("neither an address nor a path"), "{told:?}");
        }
        let trusting = ConsoleSettings {
            listen: "unix:a".into(),
            trust: ConsoleTrust::Loopback,
            ..ConsoleSettings::default()
        };
        let told = complaints(&ConsoleChoice::Detailed(trusting));
        assert!(told[0].starts_with("trust: "), "{told:?}");
    }
}
