//! What can be set about DNS over HTTPS.

use http::header::HeaderName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use vocab::{Complaint, Network};

/// DNS over HTTPS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DohSettings {
    /// The header in which a proxy in front says who the client is. Default `X-Forwarded-For`.
    pub client_header: Option<String>,
    /// The proxies that are believed: addresses and networks. Default: none, and the header is
    /// ignored.
    pub trusted_proxies: Vec<Text<Network>>,
}

impl DohSettings {
    /// Returns the header that a proxy writes, or what is wrong with it.
    pub(crate) fn header(&self) -> Result<HeaderName, Complaint> {
        let name = self.client_header.as_deref().unwrap_or("X-Forwarded-For");
        HeaderName::try_from(name).map_err(|_| {
            Complaint::new("doh.client_header", format!("{name:?} is no header's name"))
                .remedy("write X-Forwarded-For, or the header that your proxy sets")
        })
    }
}
