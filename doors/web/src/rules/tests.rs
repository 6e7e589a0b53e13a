//! What rules do, and what is refused.

use super::*;
use crate::settings::written::CacheRule;
use std::collections::BTreeMap;

fn redirect(from: &str, to: &str) -> SiteRedirectSettings {
    SiteRedirectSettings { from: from.into(), to: to.into(), status: 301 }
}

fn compiled(settings: &SiteSettings) -> SiteRules {
    let (rules, complaints) = SiteRules::compile(settings);
    assert_eq!(complaints, []);
    rules
}

fn complaints(settings: &SiteSettings) -> Vec<String> {
    SiteRules::compile(settings).1.into_iter().map(|it| it.path).collect()
}

fn request<'r>(path: &'r str, query: Option<&'r str>) -> RedirectRequest<'r> {
    let client = IpAddr::from([192, 0, 2, 7]);
    RedirectRequest { client, host: "site.example", scheme: "https", path, query }
}

#[test]
fn a_redirect_says_the_request_and_the_groups_of_an_expression() {
    let redirects = vec![
        redirect("~^/u/(?<id>[0-9]+)/(.*)$", "/user?id=${id}&page=$2"),
        redirect("/www/*", "{scheme}://www.{host}/$1?{query}"),
        redirect("/all/*", "https://new.example{uri}"),
    ];
    let rules = compiled(&SiteSettings { redirects, ..SiteSettings::default() });
    let to = |path, query| rules.redirect(&request(path, query)).map(|it| it.unwrap().to);
    assert_eq!(to("/u/7/a&b=c", None).as_deref(), Some("/user?id=7&page=a%26b%3Dc"));
    let www = to("/www//evil.example", Some("x=1"));
    assert_eq!(www.as_deref(), Some("https://www.site.example/evil.example?x=1"));
    assert_eq!(to("/all/a b", Some("x")).as_deref(), Some("https://new.example/all/a%20b?x"));
    assert_eq!(to("/u/x/", None), None);
    let nobody = RedirectRequest { host: "", ..request("/www/a", None) };
    assert_eq!(rules.redirect(&nobody), Some(Err(NoLocation::Host)));
    let long = format!("/www/{}", "\u{fc}".repeat(3_000));
    assert_eq!(rules.redirect(&request(&long, None)), Some(Err(NoLocation::TooLong)));
}

#[test]
fn a_redirect_takes_what_the_stars_stand_for() {
    let redirects = vec![
        redirect("/old/*", "/new/$1"),
        redirect("/*/wiki/*", "https://wiki.example/$1?page=$2"),
        redirect("/home", "/"),
    ];
    let rules = compiled(&SiteSettings { redirects, ..SiteSettings::default() });
    let to = |path| rules.redirect(&request(path, None)).map(|it| it.unwrap().to);
    assert_eq!(to("/old/a b"), Some("/new/a%20b".into()));
    assert_eq!(to("/old/"), Some("/new/".into()));
    assert_eq!(to("/de/wiki/A/B"), Some("https://wiki.example/de?page=A/B".into()));
    assert_eq!(to("/home"), Some("/".into()));
    assert_eq!(to("/new/x"), None);
    // Neither another line nor another host comes out of a path.
    assert_eq!(to("/old/x\r\nSet-Cookie: a"), Some("/new/x%0D%0ASet-Cookie:%20a".into()));
    assert_eq!(to("/old//evil.example"), Some("/new/evil.example".into()));
}

#[test]
fn a_redirect_that_cannot_work_is_refused() {
    for (from, to, place) in [
        ("old/*", "/new", "from"),
        ("/old/*", "new/$1", "to"),
        ("/old/*", "/new/$2", "to"),
        ("/old/*", "/new/$", "to"),
        ("/*", "//$1", "to"),
        ("/*", "$1", "to"),
        ("/*", "https://$1/", "to"),
        ("/*", "https://other.example$1", "to"),
        ("/*", "ftp://other.example/", "to"),
        ("/*", "/new/$1", "to"),
        ("/old/*", "{path}", "to"),
        ("/old/*", "/{who}", "to"),
        ("/old/*", "/{host.1}", "to"),
        ("~(", "/", "from"),
        ("~^/a/(.*)$", "/$2", "to"),
        ("/a", "/a?x", "to"),
        ("/a", "/b c", "to"),
    ] {
        let redirects = vec![redirect(from, to)];
        let settings = SiteSettings { redirects, ..SiteSettings::default() };
        assert_eq!(complaints(&settings), [format!("redirects.0.{place}")], "{from} {to}");
    }
    let redirects = vec![SiteRedirectSettings { status: 200, ..redirect("/a", "/b") }];
    let settings = SiteSettings { redirects, ..SiteSettings::default() };
    assert_eq!(complaints(&settings), ["redirects.0.status"]);
}

#[test]
fn fields_are_set_and_removed_in_order() {
    let rule = |pattern: &str, set: &[(&str, &str)], remove: &[&str]| HeaderRule {
        pattern: pattern.into(),
        set: set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        remove: remove.iter().map(|name| (*name).into()).collect(),
    };
    let headers = vec![
        rule("", &[("X-Frame-Options", "DENY"), ("X-A", "1")], &[]),
        rule("*.html", &[("x-a", "2")], &["x-content-type-options"]),
    ];
    let rules = compiled(&SiteSettings { headers, ..SiteSettings::default() });
    let mut found = HeaderMap::new();
    found.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    rules.apply_headers("/a/b.html", &mut found);
    assert_eq!(
        (&found["x-frame-options"], &found["x-a"]),
        (&"DENY".parse().unwrap(), &"2".parse().unwrap())
    );
    assert!(!found.contains_key("x-content-type-options"));
}

#[test]
fn fields_of_the_framing_and_broken_ones_are_refused() {
    let set = |name: &str, value: &str| HeaderRule {
        set: BTreeMap::from([(name.into(), value.into())]),
        ..HeaderRule::default()
    };
    let headers = vec![
        set("Content-Length", "5"),
        set("a b", "x"),
        set("x-a", "x\r\ny: z"),
        HeaderRule { remove: vec!["transfer-encoding".into()], ..HeaderRule::default() },
        HeaderRule::default(),
    ];
    let settings = SiteSettings { headers, ..SiteSettings::default() };
    let expected = [
        "headers.0.set.Content-Length",
        "headers.1.set.a b",
        "headers.2.set.x-a",
        "headers.3.remove.0",
        "headers.4",
    ];
    assert_eq!(complaints(&settings), expected);
}

#[test]
fn the_first_cache_rule_counts() {
    let rule =
        |pattern: &str, value: &str| CacheRule { pattern: pattern.into(), value: value.into() };
    let cache_control = vec![rule("/assets/*", "immutable"), rule("", "no-cache")];
    let rules = compiled(&SiteSettings { cache_control, ..SiteSettings::default() });
    assert_eq!(rules.cache_control("/assets/a.js").unwrap(), "immutable");
    assert_eq!(rules.cache_control("/a.js").unwrap(), "no-cache");
    let cache_control = vec![rule("", ""), rule("", "a\nb")];
    let settings = SiteSettings { cache_control, ..SiteSettings::default() };
    assert_eq!(complaints(&settings), ["cache_control.0.value", "cache_control.1.value"]);
}
