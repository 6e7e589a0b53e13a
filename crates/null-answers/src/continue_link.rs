//! Where a click was to lead: many blocked addresses carry the real one inside.
//!
//! It is read, decoded twice at most, and checked: a web address with a host that is a name,
//! without a control character. It becomes a link that a person may follow, or a redirect where the
//! owner wants that. Called by `page` and the pixel door.

use http_engine::authority;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use vocab::DomainName;

/// Bytes of an address that is offered; a longer one is not.
const CONTINUE_URL_BYTES_MAX: usize = 2048;
/// Trackers encode an address once or twice.
const DECODINGS_MAX: usize = 2;
/// Parts of an address that are looked at: enough for any tracker, a bound for the rest.
const PARTS_MAX: usize = 64;

/// An address to go on to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnwardUrl {
    /// The host.
    pub host: DomainName,
    /// The whole URL.
    pub url: String,
}

/// The address that the blocked `url` of `host` was to lead to, if it carries one.
pub fn find(url: &str, host: &DomainName) -> Option<OnwardUrl> {
    let behind = url.split_once("://")?.1;
    // Values of a query, of a path's parameters, and what follows a `?` as a whole.
    let values = behind.split(['?', '&', ';', '#']).skip(1).take(PARTS_MAX);
    let values = values.map(|part| part.split_once('=').map_or(part, |(_, value)| value));
    values.chain(embedded(behind)).filter_map(decoded).find(|onward| onward.host != *host)
}

/// Returns what begins as an address within a path, as it is and encoded.
fn embedded(behind: &str) -> impl Iterator<Item = &str> {
    ["/http://", "/https://", "/http%3A", "/https%3A", "?http://", "?https://"]
        .into_iter()
        .filter_map(move |start| behind.find(start).map(|at| &behind[at + 1..]))
}

fn decoded(value: &str) -> Option<OnwardUrl> {
    let mut text = Cow::Borrowed(value);
    for _ in 0..=DECODINGS_MAX {
        if let Some(onward) = checked(&text) {
            return Some(onward);
        }
        text = percent_decode_str(&text).decode_utf8().ok()?.into_owned().into();
    }
    None
}

fn checked(text: &str) -> Option<OnwardUrl> {
    let (scheme, behind) = text.split_once("://")?;
    let is_web = ["http", "https"].iter().any(|it| it.eq_ignore_ascii_case(scheme));
    let is_whole = text.len() <= CONTINUE_URL_BYTES_MAX
        && !text.chars().any(|it| it.is_control() || it.is_whitespace() || it == '\\')
        // Whoever decodes once more would find the line end that was put in for him.
        && !percent_decode_str(text).any(|byte| byte.is_ascii_control());
    if !is_web || !is_whole {
        return None;
    }
    let authority = behind.split(['/', '?', '#']).next()?;
    let host = DomainName::parse(authority::host(authority)).ok()?;
    // `a.example@b.example` shows one name and leads to the other; a name without a dot, or a
    // number, leads into the own network.
    let is_public = host.as_str().contains('.') && authority.parse::<std::net::Ipv4Addr>().is_err();
    is_public.then(|| OnwardUrl { host, url: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Option<&str>) {
        let host = DomainName::parse("ads.example").unwrap();
        let found = find(url, &host).map(|onward| onward.url);
        assert_eq!(found.as_deref(), expected, "{url}");
    }

    #[test]
    fn an_address_within_is_found_plain_and_encoded() {
        let shop = Some("https://shop.example/a?b=1&c=2");
        check("http://ads.example/c?adurl=https%3A%2F%2Fshop.example%2Fa%3Fb%3D1%26c%3D2", shop);
        check(
            "http://ads.example/c?u=https%253A%252F%252Fshop.example%252Fa%253Fb%253D1%2526c%253D2",
            shop,
        );
        let plain = Some("https://shop.example/a");
        check("http://ads.example/c?x=1&u=https://shop.example/a", plain);
        check("http://ads.example/clk/1;82;d?https://shop.example/a", plain);
        check("http://ads.example/go/https://shop.example/a", plain);
        check("http://ads.example/go/https%3A%2F%2Fshop.example%2Fa", plain);
    }

    #[test]
    fn nothing_but_a_plain_web_address_is_offered() {
        for hostile in [
            "http://ads.example/c?u=javascript:alert(1)",
            "http://ads.example/c?u=data:text/html,x",
            "http://ads.example/c?u=https://shop.example@evil.example/",
            "http://ads.example/c?u=https%3A%2F%2Fshop.example%2F%250d%250aX:1",
            "http://ads.example/c?u=https://127.0.0.1/admin",
            "http://ads.example/c?u=http://router/",
            "http://ads.example/c?u=https://ads.example/again",
            "http://ads.example/c?u=https:\\\\shop.example",
            "http://ads.example/c?u=//shop.example/",
            "http://ads.example/",
            "",
        ] {
            check(hostile, None);
        }
        let long = format!("http://ads.example/c?u=https://shop.example/{}", "a".repeat(3000));
        check(&long, None);
    }
}
