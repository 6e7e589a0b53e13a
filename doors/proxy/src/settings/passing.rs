//! Settings of what passes: tunnels' names, and header fields.
//!
//! Read and checked as a part of the section; `headers` and `sni` go by it.

use http::HeaderName;
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HOST, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http_engine::upgrade::check_protocol;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// Names in `censor`.
const CENSORED_MAX: usize = 64;
/// Protocols in `upgrade`: each is held against what a request asks for.
const UPGRADES_MAX: usize = 8;
/// Fields without which a message is another, or none.
const FRAMING: [HeaderName; 10] = [
    CONNECTION,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_RANGE,
    CONTENT_TYPE,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Tells whether the server's name in a tunnel's first bytes counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConnectSni {
    /// A tunnel that asks for a blocked name is cut; one that is not TLS passes.
    #[default]
    Check,
    /// A tunnel that does not begin with TLS and a name is cut too.
    Require,
    /// Tunnels are not looked into.
    Off,
}

/// Tells what origins learn of the page that asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefererPolicy {
    /// What the browser says.
    #[default]
    Keep,
    /// Only pages of their own site.
    SameSite,
    /// Nothing.
    Drop,
}

/// Everything that is wrong with the protocols that connections may leave HTTP for.
pub(super) fn check_upgrade(protocols: &[String]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if protocols.len() > UPGRADES_MAX {
        complaints.push(Complaint::new("upgrade", format!("at most {UPGRADES_MAX} protocols")));
    }
    for (index, protocol) in protocols.iter().enumerate() {
        if let Err(why) = check_protocol(protocol) {
            complaints.push(
                Complaint::new(format!("upgrade.{index}"), format!("{protocol:?}: {why}"))
                    .remedy("write upgrade: [websocket]"),
            );
        }
    }
    complaints
}

/// Tells whether something is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FieldDisclosure {
    /// It is.
    On,
    /// Is not.
    Off,
}

/// Everything that is wrong with `censor`.
pub(super) fn check_censored(names: &[String]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if names.len() > CENSORED_MAX {
        complaints.push(Complaint::new("censor", format!("more than {CENSORED_MAX} names")));
    }
    for (index, name) in names.iter().enumerate() {
        let path = format!("censor.{index}");
        match HeaderName::from_bytes(name.as_bytes()) {
            Err(_) => {
                let complaint = Complaint::new(path, format!("{name:?} is no header field"));
                complaints.push(complaint.remedy("write names as in [X-Client-Data, ETag]"));
            }
            Ok(name) if FRAMING.contains(&name) => {
                let message = format!("without {name} a message is another, or none");
                complaints.push(Complaint::new(path, message).remedy("leave it out"));
            }
            Ok(_) => {}
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_frames_a_message_is_not_censored() {
        let names = ["User-Agent", "content-length", "a b"].map(String::from);
        let paths: Vec<_> = check_censored(&names).into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["censor.1", "censor.2"]);
    }
}
