//! The signs that a device may go around the filter.

use std::str::FromStr;
use vocab::UnknownWord;

/// Kind of sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignalKind {
    /// A resolver over HTTPS, TLS or QUIC was asked for: an app or browser has one of its own.
    EncryptedDns,
    /// A relay was asked for, such as those of iCloud Private Relay.
    Relay,
    /// A VPN was asked for.
    Vpn,
    /// A name that only hides others in ECH was asked for.
    Ech,
    /// A canary was asked for: the platform looks whether it may use a resolver of its own.
    Canary,
    /// Requests at other doors without a DNS question in that time.
    NoDns,
    /// Asked on most of the last days, and no more, while its link is up.
    Silent,
}

impl SignalKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::EncryptedDns,
        Self::Relay,
        Self::Vpn,
        Self::Ech,
        Self::Canary,
        Self::NoDns,
        Self::Silent,
    ];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EncryptedDns => "encrypted_dns",
            Self::Relay => "relay",
            Self::Vpn => "vpn",
            Self::Ech => "ech",
            Self::Canary => "canary",
            Self::NoDns => "no_dns",
            Self::Silent => "silent",
        }
    }
}

impl FromStr for SignalKind {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| UnknownWord(word.into()))
    }
}
