//! Places, by what they are made of, and what hostile requests make of them.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]

use super::*;
use crate::expression::MatchExpression;

/// A redirect in the making: the path's expression and the host's.
struct Redirect<'t> {
    path: &'t str,
    host: &'t str,
}

impl Redirect<'_> {
    fn groups(&self) -> LocationGroups {
        let names = |text: &str| GroupNames::of_expression(&MatchExpression::new(text).unwrap());
        LocationGroups {
            path: names(self.path),
            host: names(self.host),
            slashes: EncodedSlash::Refuse,
        }
    }

    /// The place for `path`, decoded, of a request that has `query`.
    fn place(&self, to: &str, path: &str, query: Option<&str>) -> Result<String, NoLocation> {
        let template = LocationTemplate::parse(to, &self.groups()).unwrap();
        let expression = |text: &str| MatchExpression::new(text).unwrap();
        let host = "www.site.example";
        let path_groups = expression(self.path).groups(path).unwrap();
        let host_groups = expression(self.host).groups(host).unwrap();
        let mut encoded = String::new();
        push_decoded(path, UrlPart::Path, EncodedSlash::Refuse, &mut encoded);
        let facts = LocationFacts {
            client: IpAddr::from([192, 0, 2, 7]),
            host,
            scheme: "https",
            path: &encoded,
            query,
            path_groups: &path_groups,
            host_groups: &host_groups,
        };
        template.location(&facts).map(|it| it.to_str().unwrap().to_owned())
    }
}

const ALL: Redirect<'_> = Redirect { path: "^/(?<first>[^/]*)/?(.*)$", host: r"^www\.(.+)$" };

#[test]
fn a_place_says_the_request_and_its_groups() {
    for (to, expected) in [
        ("https://{host}{uri}", "https://www.site.example/old/a%20b?x=1&y=2"),
        ("https://{host.1}{path}?{query}", "https://site.example/old/a%20b?x=1&y=2"),
        ("{scheme}://{host}:8443/$2", "https://www.site.example:8443/a%20b"),
        ("/new/$2?from=$first&{query}", "/new/a%20b?from=old&x=1&y=2"),
        ("/$1x/${1}x/$$1", ""),
        ("//other.example{path}", "//other.example/old/a%20b"),
        ("https://other.example", "https://other.example"),
        ("https://other.example?{query}", "https://other.example?x=1&y=2"),
        ("/{{a}}?ip={client}", "/{a}?ip=192.0.2.7"),
        ("{uri}", "/old/a%20b?x=1&y=2"),
    ] {
        if expected.is_empty() {
            let why = LocationTemplate::parse(to, &ALL.groups()).unwrap_err();
            assert_eq!(why, BadLocation::PathGroup("1x".into(), 2), "{to}");
            continue;
        }
        assert_eq!(ALL.place(to, "/old/a b", Some("x=1&y=2")).unwrap(), expected, "{to}");
    }
    assert_eq!(ALL.place("/${1}x$$", "/old/", None).unwrap(), "/oldx$");
}

#[test]
fn a_query_that_is_not_there_leaves_no_sign_behind() {
    for query in [None, Some("")] {
        assert_eq!(ALL.place("/n?{query}", "/a", query).unwrap(), "/n");
        assert_eq!(ALL.place("/n?a=b&{query}", "/a", query).unwrap(), "/n?a=b");
        assert_eq!(ALL.place("/n?{query}&a=b", "/a", query).unwrap(), "/n?&a=b");
    }
}

#[test]
fn a_url_within_a_query_is_one_value() {
    let place = |to, query| ALL.place(to, "/a&b/c d", query).unwrap();
    assert_eq!(
        place("/login?next={uri}", Some("x=1&admin=1")),
        "/login?next=/a%26b/c%2520d%3Fx=1%26admin=1"
    );
    assert_eq!(place("/login?next={path}&x=$2", None), "/login?next=/a%26b/c%2520d&x=c%20d");
    assert_eq!(place("/l?a=$1", None), "/l?a=a%26b");
}

#[test]
fn no_path_becomes_a_host() {
    let any = Redirect { path: "^(.*)$", host: "" };
    for (to, path, expected) in [
        ("{path}", "//evil.example/x", "/evil.example/x"),
        ("{uri}", "///evil.example", "/evil.example"),
        ("/$1", "//evil.example", "/evil.example"),
        ("/$1", r"/\evil.example", "/%5Cevil.example"),
        ("https://a.example/$1", "//evil.example", "https://a.example/evil.example"),
        ("https://a.example{path}", "//e", "https://a.example//e"),
        ("https://a.example/$1", "@evil.example", "https://a.example/@evil.example"),
    ] {
        assert_eq!(any.place(to, path, None).unwrap(), expected, "{to} {path}");
    }
    let wrong = |to: &str| LocationTemplate::parse(to, &any.groups()).unwrap_err();
    for to in [
        "https://a.example$1",
        "https://$1/",
        "https://{path.1}",
        "//$1",
        "https://{client}/",
        "https://{query}",
        "https://a.example{query}",
        "$1",
        "{query}",
        "{host}/x",
        "x",
        "",
        "javascript:alert(1)",
        "{scheme}:/x",
        "{scheme}",
        "ftp://a.example/",
        "https:///x",
        "https://",
    ] {
        let why = wrong(to);
        assert!(!why.to_string().is_empty() && !why.remedy().is_empty(), "{to}");
    }
    assert!(matches!(wrong("https://a.example$1"), BadLocation::Host(_)));
    assert!(matches!(wrong("//$1"), BadLocation::Host(_)));
}

#[test]
fn a_host_that_is_not_there_is_no_host() {
    let maybe = Redirect { path: "^", host: r"^(?:ftp\.(.+))?" };
    assert_eq!(maybe.place("https://{host.1}{path}", "/evil.example", None), Err(NoLocation::Host));
    assert_eq!(maybe.place("https://{host.1}.a.example/", "/", None), Err(NoLocation::Host));
    let at = maybe.place("https://a.{host.1}.example/", "/", None);
    assert_eq!(at.unwrap(), "https://a..example/");
}

#[test]
fn nothing_begins_a_field_or_grows_without_end() {
    assert_eq!(
        ALL.place("/n/$1", "/x\r\nSet-Cookie: a", None).unwrap(),
        "/n/x%0D%0ASet-Cookie:%20a"
    );
    assert_eq!(
        ALL.place("/n?{query}", "/", Some("a\r\nb <c>\"")).unwrap(),
        "/n?a%0D%0Ab%20%3Cc%3E%22"
    );
    assert_eq!(ALL.place("/n/$1", "/\u{fc}%", None).unwrap(), "/n/%C3%BC%25");
    let long = format!("/{}", "\u{fc}".repeat(2_000));
    assert_eq!(ALL.place("/$1", &long, None), Err(NoLocation::TooLong));
    let to = format!("/{}", "a".repeat(LOCATION_BYTES_MAX));
    assert_eq!(LocationTemplate::parse(&to, &ALL.groups()), Err(BadLocation::TooLong));
    let bad = LocationTemplate::parse("/a\r\nX: y", &ALL.groups());
    assert!(matches!(bad, Err(BadLocation::Value(_))));
}

#[test]
fn unknown_words_and_groups_are_told() {
    let why = |to: &str| LocationTemplate::parse(to, &ALL.groups()).unwrap_err();
    assert_eq!(why("/{who}"), BadLocation::Word("who".into()));
    assert_eq!(why("/{path"), BadLocation::Brace);
    assert_eq!(why("/path}"), BadLocation::Brace);
    assert_eq!(why("/$3"), BadLocation::PathGroup("3".into(), 2));
    assert_eq!(why("/${last}"), BadLocation::PathGroup("last".into(), 2));
    assert_eq!(why("/$"), BadLocation::PathGroup(String::new(), 2));
    assert_eq!(why("https://{host.2}/"), BadLocation::HostGroup("2".into(), 1));
}

#[test]
fn an_encoded_slash_that_is_kept_stays_one() {
    let groups = LocationGroups { slashes: EncodedSlash::Keep, ..ALL.groups() };
    let template = LocationTemplate::parse("/n/$1", &groups).unwrap();
    let facts = LocationFacts {
        client: IpAddr::from([192, 0, 2, 7]),
        host: "",
        scheme: "http",
        path: "/",
        query: None,
        path_groups: &["", "a%2Fb c%"],
        host_groups: &[],
    };
    assert_eq!(template.location(&facts).unwrap(), "/n/a%2Fb%20c%25");
}
