//! What can be set about the `Host` that servers of a route are asked with.
//!
//! Plain data. Read as part of a route.

use origins::{Origin, OriginScheme};

/// The `Host` that servers read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostSetting {
    Keep,
    Server,
    Text(String),
}

/// The `Host` that servers read, where no rule for fields says another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HostSent {
    #[default]
    Original,
    /// Of the server that is asked. Stands in the extensions of requests that go to a pool.
    Servers,
}

impl HostSetting {
    /// Which `Host` goes out where no rule sets one.
    pub(crate) const fn sent(&self) -> HostSent {
        match self {
            Self::Keep | Self::Text(_) => HostSent::Original,
            Self::Server => HostSent::Servers,
        }
    }

    /// Reads `keep`, `server`, or a host.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "keep" => Ok(Self::Keep),
            "server" => Ok(Self::Server),
            host => match Origin::from_authority(OriginScheme::Http, host) {
                Ok(_) => Ok(Self::Text(host.to_owned())),
                Err(_) => Err(format!("{host:?} is no host")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_kept_the_servers_or_one() {
        assert_eq!(HostSetting::parse("keep"), Ok(HostSetting::Keep));
        assert_eq!(HostSetting::parse("server"), Ok(HostSetting::Server));
        let named = HostSetting::parse("inner.example:81");
        assert_eq!(named, Ok(HostSetting::Text("inner.example:81".into())));
        for wrong in ["", "a b", "a/b", "a\r\nb", "http://a"] {
            assert!(HostSetting::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
