//! Whether a connection may answer for a host: HTTP/2 lets one connection serve many.
//!
//! The certificate was made for the name of the handshake, or for its domain with everything one
//! label below where the policy blocks all of that (`transport`'s signer). The same question is asked
//! here of the policy as it is now, so a host let through since is covered no more.

use vocab::{DomainName, Name};

/// A label that stands in no list, to ask whether everything below a domain is blocked.
const PROBE: &str = "tidegate-covers-probe";

/// Whether the certificate of a connection opened for `asked` covers `host`. `is_blocked` is the
/// policy's word on a name.
pub(crate) fn covers(
    asked: Name<'_>,
    host: Name<'_>,
    is_blocked: impl Fn(Name<'_>) -> bool,
) -> bool {
    if asked == host {
        return true;
    }
    let below = |base: Name<'_>| host == base || host.parent() == Some(base);
    let bases = [Some(asked), asked.parent()];
    bases.into_iter().flatten().filter(|base| *base != Name::ROOT && below(*base)).any(|base| {
        let probe = DomainName::parse(&format!("{PROBE}.{base}"));
        is_blocked(base) && probe.is_ok_and(|probe| is_blocked(probe.as_name()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: &'static str, host: &'static str, expected: bool) {
        let name = |text| Name::from_lowercase(text).unwrap();
        // All of ads.example is blocked, and of tracker.test the name itself alone.
        let is_blocked =
            |it: Name<'_>| it.is_within(name("ads.example")) || it == name("tracker.test");
        assert_eq!(covers(name(asked), name(host), is_blocked), expected, "{asked} for {host}");
    }

    #[test]
    fn a_connection_covers_its_own_name_and_a_wholly_blocked_domain() {
        check("ads.example", "ads.example", true);
        check("ads.example", "a.ads.example", true);
        check("a.ads.example", "ads.example", true);
        check("a.ads.example", "b.ads.example", true);
        check("tracker.test", "tracker.test", true);
    }

    #[test]
    fn it_covers_no_other_name() {
        check("ads.example", "www.example", false);
        check("ads.example", "example", false);
        check("ads.example", "a.b.ads.example", false);
        check("tracker.test", "a.tracker.test", false);
        check("a.tracker.test", "tracker.test", false);
        check("a.ads.example", "a.tracker.test", false);
    }
}
