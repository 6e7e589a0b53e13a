//! Names that a certificate may carry.
//!
//! Names are taken apart by the rules of the public suffix list; no policy is asked. Called by the
//! signer and the issuer, and where settings are checked.

use std::fmt;

/// Why a text is no name that a certificate may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadName {
    /// Empty, or longer than 253 bytes.
    Length,
    /// A label that is empty, longer than 63 bytes, or not of letters, digits and inner hyphens.
    Label,
    /// An IP address, or a name whose last label is a number, which browsers take for one.
    Address,
    /// A name below which anybody registers names of their own, such as `com`, `co.uk` or
    /// `github.io`.
    PublicSuffix,
}

/// Checks that `name` is of letters, digits and hyphens (RFC 5890 §2.3.1, with `_` as names in
/// use have it), and returns it in lower case without a final dot.
pub fn host_name(name: &str) -> Result<String, BadName> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() || name.len() > 253 {
        return Err(BadName::Length);
    }
    let label_is_right = |label: &str| {
        let bytes = label.as_bytes();
        (1..=63).contains(&bytes.len())
            && bytes.iter().all(|it| it.is_ascii_alphanumeric() || *it == b'-' || *it == b'_')
            && bytes.first() != Some(&b'-')
            && bytes.last() != Some(&b'-')
    };
    if !name.split('.').all(label_is_right) {
        return Err(BadName::Label);
    }
    // WHATWG URL §3.5: a host that ends in a number is an IPv4 address or invalid.
    let last = name.rsplit('.').next().unwrap_or(name);
    let hexadecimal = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    let is_number = last.bytes().all(|it| it.is_ascii_digit())
        || hexadecimal.is_some_and(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
    if is_number {
        return Err(BadName::Address);
    }
    Ok(name.to_ascii_lowercase())
}

/// The host name of a leaf in place of a blocked host: a [`host_name`] of at least two labels that
/// is no public suffix. A single label may be a top-level domain younger than the list of suffixes.
pub(crate) fn blockable_name(name: &str) -> Result<String, BadName> {
    let host = host_name(name)?;
    if host.contains('.') && !is_public_suffix(&host) {
        Ok(host)
    } else {
        Err(BadName::PublicSuffix)
    }
}

/// The name of a server of ours, as a certificate carries it: a [`host_name`] that is no public
/// suffix, `*.` in front where it stands for one label.
pub fn own_name(name: &str) -> Result<String, BadName> {
    let (star, base) = match name.strip_prefix("*.") {
        Some(base) => ("*.", base),
        None => ("", name),
    };
    let host = host_name(base)?;
    let is_shared = !star.is_empty() && !host.contains('.');
    if is_shared || is_public_suffix(&host) {
        return Err(BadName::PublicSuffix);
    }
    Ok(format!("{star}{host}"))
}

/// True if the public suffix list names `host`, which is lower-case, as a suffix.
fn is_public_suffix(host: &str) -> bool {
    psl::suffix(host.as_bytes())
        .is_some_and(|suffix| suffix.is_known() && suffix.as_bytes().len() == host.len())
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "a name has 1 to 253 bytes",
            Self::Label => "a label has 1 to 63 letters, digits or inner hyphens",
            Self::Address => "an IP address is no name",
            Self::PublicSuffix => "names below it belong to many owners (a public suffix)",
        })
    }
}

impl std::error::Error for BadName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_suffix_is_the_name_of_no_host() {
        for name in ["com", "co.uk", "github.io", "printer", "home.arpa", "CO.UK."] {
            assert_eq!(blockable_name(name), Err(BadName::PublicSuffix), "{name}");
        }
        for name in ["ads.com", "x.github.io", "printer.lan", "nas.home.arpa"] {
            assert_eq!(blockable_name(name).as_deref(), Ok(name));
        }
        for name in ["localhost", "app.example", "nas.home.arpa", "*.app.example"] {
            assert_eq!(own_name(name).as_deref(), Ok(name));
        }
        for name in ["com", "co.uk", "*.co.uk", "*.com", "*.home.arpa", "*.lan"] {
            assert_eq!(own_name(name), Err(BadName::PublicSuffix), "{name}");
        }
        for name in ["*.*.example", "*", "a.*.example", "*."] {
            assert!(own_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn only_host_names_are_names() {
        assert_eq!(host_name("Ads.Example.COM."), Ok("ads.example.com".into()));
        assert_eq!(
            host_name("_dmarc.xn--bcher-kva.example"),
            Ok("_dmarc.xn--bcher-kva.example".into())
        );
        for bad in ["*.example.com", "*", "a..b", "-a.example", "a-.example", "a b", "a\0b", "../x"]
        {
            assert_eq!(host_name(bad), Err(BadName::Label), "{bad:?}");
        }
        for address in ["127.0.0.1", "1.2", "2130706433", "example.0x7f"] {
            assert_eq!(host_name(address), Err(BadName::Address), "{address:?}");
        }
        assert_eq!(host_name("::1"), Err(BadName::Label));
        assert_eq!(host_name(""), Err(BadName::Length));
        assert_eq!(host_name("."), Err(BadName::Length));
        assert_eq!(host_name(&format!("{}example", "abcdefg.".repeat(31))), Err(BadName::Length));
        assert_eq!(host_name(&"a".repeat(64)), Err(BadName::Label));
    }
}
