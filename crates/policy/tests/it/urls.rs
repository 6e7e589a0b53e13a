//! URL patterns through the whole engine: index and matcher together.

use crate::support::{Fetch, blocks, fetch, policy};
use vocab::RequestKind;

fn check(list: &str, url: &str, blocked: bool) {
    let found = blocks(fetch(&policy(list), Fetch(url, RequestKind::Script, "page.example")));
    assert_eq!(found, blocked, "{url} by {list:?}");
}

#[test]
fn a_pattern_is_found_wherever_it_is_filed() {
    check("||a.example/ads/", "https://www.a.example/ads/x.js", true);
    check("||a.example/ads/", "https://www.a.example/bads/x.js", false);
    check("||a.example:8080/", "https://a.example:8080/", true);
    check("||a.example^*/ads.js", "https://a.example/x/ads.js", true);
    check("/ads/banner.js?", "https://a.example/ads/banner.js?x", true);
    check("&ad_box_", "https://a.example/?x=1&ad_box_2", true);
    check("_300x250.", "https://a.example/img_300x250.png", true);
    check("|https://a.", "https://a.example/", true);
    check(".swf|", "https://a.example/x.swf", true);
    check("://ads.", "https://ads.example/", true);
    check("/ads*/x^y", "https://a.example/adsandmore/x?y", true);
}

#[test]
fn a_regular_expression_is_found_by_its_literals_or_its_pages() {
    check(r"/\/ads-[0-9]{3}\.js/$script", "https://a.example/ads-123.js", true);
    check(r"/\/ads-[0-9]{3}\.js/$script", "https://a.example/ads-12.js", false);
    check(r"/^https?:\/\/[a-z]{5}\.example\/[a-z]+$/$script", "https://abcde.example/xyz", true);
    check(r"/[0-9]{9}/$script,domain=page.example", "https://a.example/123456789", true);
    check(r"/[0-9]{9}/$script,domain=other.example", "https://a.example/123456789", false);
}

#[test]
fn letters_count_alike_in_either_case() {
    check("/ADS/x", "https://a.example/ads/X", true);
    check("||A.Example/Ads", "https://a.example/aDs", true);
}

#[test]
fn what_lies_beyond_two_kilobytes_is_not_looked_at() {
    let url = format!("https://a.example/{}/ads/x", "y".repeat(3000));
    check("/ads/x", &url, false);
    check("||a.example^$script", &url, true);
}

#[test]
fn a_url_of_the_proxy_is_told_from_its_parameters() {
    check("||ads.example^$script", "https://a.example/?u=https://ads.example/", false);
    check("||ads.example^*x$script", "https://user@ads.example:81/x", true);
}
