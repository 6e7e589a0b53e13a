//! Settings of the admin over HTTPS.
//!
//! Plain data: it reads no file and touches no socket. Called by `check`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::SocketAddr;
use std::path::PathBuf;
use transport::tls::{OwnCertificate, OwnName};
use vocab::{Complaint, DomainName};

/// Names that a certificate may have.
const NAMES_MAX: usize = 64;

/// The admin over HTTPS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpsSettings {
    /// Where to listen, as address and port.
    pub listen: Text<SocketAddr>,
    /// Host names that the certificate of Tidegate's own authority has besides the listener's
    /// addresses, and under which browsers may call it. At most 64. Default none.
    #[serde(default)]
    pub names: Vec<Text<DomainName>>,
    /// The chain, leaf first, in PEM; a relative path starts from the configuration's folder. The
    /// file is watched: a new one is served within some seconds, and one that cannot be used
    /// changes nothing but is complained about. Default: a certificate for `names` and the
    /// listener's addresses, signed by Tidegate's own authority.
    #[serde(default)]
    pub certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM.
    #[serde(default)]
    pub key: Option<PathBuf>,
}

impl HttpsSettings {
    /// Every complaint, with paths relative to this section.
    pub(crate) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let mut say = |path: &str, message: String, remedy: &str| {
            complaints.push(Complaint::new(path, message).remedy(remedy.to_owned()));
        };
        if self.names.len() > NAMES_MAX {
            let message = format!("{} names are too many", self.names.len());
            say("names", message, "write at most 64");
        }
        match (&self.certificate, &self.key) {
            (Some(_), None) => {
                say("certificate", "a certificate needs its key".into(), "set admin.https.key");
            }
            (None, Some(_)) => {
                say("key", "a key needs its certificate".into(), "set admin.https.certificate");
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        complaints
    }

    /// The certificate that our own authority is to sign; none where files hold one.
    pub fn own_certificate(&self) -> Option<OwnCertificate> {
        let numbered = self.names.iter().enumerate();
        let name = |(index, name): (usize, &Text<DomainName>)| OwnName {
            path: format!("names.{index}"),
            name: name.as_str().to_owned(),
        };
        self.certificate.is_none().then(|| OwnCertificate {
            names: numbered.map(name).collect(),
            listening: vec![self.listen.0],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: serde_json::Value) -> HttpsSettings {
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn a_certificate_and_its_key_come_together() {
        let own = settings(serde_json::json!({"listen": "127.0.0.1:9443", "names": ["tide.home"]}));
        assert_eq!(own.check(), []);
        assert_eq!(own.own_certificate().unwrap().names[0].name, "tide.home");
        let files = serde_json::json!({"listen": "127.0.0.1:9443", "certificate": "a", "key": "b"});
        assert_eq!(settings(files).own_certificate(), None);
        for (key, path) in [("certificate", "certificate"), ("key", "key")] {
            let half = settings(serde_json::json!({"listen": "127.0.0.1:9443", key: "a.pem"}));
            assert_eq!(half.check()[0].path, path);
        }
    }
}
