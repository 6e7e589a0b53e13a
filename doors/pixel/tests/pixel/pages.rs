//! The pages for people, over HTTP.

use crate::support::Edge;

const PERSON: &[(&str, &str)] = &[("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")];

#[test]
fn a_person_is_told_name_list_line_rule_profile_and_how_to_ask() {
    let edge = Edge::start("! a comment\n||ads.example^\n");
    let page = edge.ask("GET /landing?a=1&b='2'", PERSON);
    assert_eq!((page.status, page.field("cache-control")), (403, "no-store"));
    assert!(page.body.len() > 512, "shorter ones are replaced by some browsers");
    for part in [
        "<h1>ads.example</h1>",
        "<code>||ads.example^</code>",
        "List <b>mine</b>, line <b>2</b>",
        "profile <b>default</b>",
        "http://ads.example/landing?a=1&amp;b=&#39;2&#39;",
        "tidegate why &#39;http://ads.example/landing?a=1&amp;b=&#39;\\&#39;&#39;2&#39;\\&#39;&#39;&#39; --client 127.0.0.1 --kind document --door pixel",
        "http://127.0.0.1:9053/#/why?target=http%3A%2F%2Fads%2Eexample",
        " GMT",
    ] {
        assert!(page.text().contains(part), "{part} is missing:\n{}", page.text());
    }
    assert!(!page.text().contains("{{"), "a slot is open");
}

#[test]
fn no_other_site_can_read_or_frame_the_page() {
    let edge = Edge::start("||ads.example^\n");
    let mut fields = PERSON.to_vec();
    fields.push(("Origin", "http://ads.example"));
    let page = edge.ask("GET /", &fields);
    assert_eq!(page.status, 403);
    assert_eq!(page.field("access-control-allow-origin"), "");
    assert_eq!(page.field("cross-origin-resource-policy"), "same-origin");
    assert_eq!(page.field("x-frame-options"), "DENY");
    let policy = page.field("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!page.text().contains("<script"));
}

#[test]
fn what_a_client_sends_cannot_become_markup() {
    let edge = Edge::start("||ads.example^\n");
    let page = edge.ask("GET /<script>alert(1)</script>?\"><img>", PERSON);
    assert!(matches!(page.status, 400 | 403));
    assert!(!page.text().contains("<script>") && !page.text().contains("<img>"));
    let page = edge.ask("GET /?q='%22%3E%3Cb%3E", PERSON);
    assert_eq!(page.status, 403);
    assert!(!page.text().contains("q='"), "quotes are escaped");
}

#[test]
fn a_name_that_is_not_blocked_is_told_to_wait_for_its_device_to_forget() {
    let edge = Edge::start("||ads.example^\n");
    for host in ["www.example", "localhost:80"] {
        let page = edge.ask_host(host, "GET /", PERSON);
        assert_eq!((page.status, page.field("cache-control")), (421, "no-store"), "{host}");
        assert!(page.text().contains("clear the DNS cache"), "{host}");
    }
}

#[test]
fn a_very_long_address_is_shown_in_part() {
    let edge = Edge::start("||ads.example^\n");
    let page = edge.ask(&format!("GET /{}", "a".repeat(9000)), PERSON);
    assert_eq!(page.status, 403);
    assert!(page.body.len() < 20_000, "{}", page.body.len());
}

#[test]
fn where_a_click_was_to_lead_is_a_link() {
    let edge = Edge::start("||ads.example^\n");
    let target = "https%3A%2F%2Fshop.example%2Fa%3Fb%3D1%26c%3D%22%3E";
    let page = edge.ask(&format!("GET /click?id=1&adurl={target}"), PERSON).text();
    let link = "href=\"https://shop.example/a?b=1&amp;c=&quot;&gt;\" rel=\"noreferrer nofollow\"";
    assert!(page.contains(link), "{page}");
    let page = edge.ask("GET /click?adurl=javascript%3A%2F%2Fx", PERSON).text();
    assert!(!page.contains("class=\"onward\""), "{page}");
}

#[test]
fn the_number_of_a_request_is_its_time_in_the_ledger() {
    let edge = Edge::start("||ads.example^\n");
    let page = edge.ask("GET /", PERSON).text();
    let (_, behind) = page.split_once("<dt>Request</dt><dd><code>").unwrap();
    let number = behind.split_once('<').unwrap().0.replace('-', "");
    let row = edge.rows_at_least(1).remove(0);
    assert_eq!(u64::from_str_radix(&number, 16).unwrap(), row.at_ms);
}

#[test]
fn an_address_leads_to_the_page_that_sets_a_device_up() {
    let edge = Edge::start("||ads.example^\n");
    let authority = edge.http.to_string();
    let phone = [("User-Agent", "Mozilla/5.0 (Linux; Android 15)"), PERSON[0]];
    let page = edge.ask_host(&authority, "GET /", &phone);
    assert_eq!((page.status, page.field("cache-control")), (200, "no-store"));
    assert!(page.text().contains("<details name=\"platform\" open>\n<summary>Android"));
    assert_eq!(page.text().matches(" open>").count(), 1);
    for path in ["/ca.crt", "/ca.pem"] {
        let file = edge.ask_host(&authority, &format!("GET {path}"), &[]);
        assert_eq!((file.status, &file.body[..]), (200, &edge.ca()[..]), "{path}");
    }
    let kind = edge.ask_host(&authority, "GET /ca.crt", &[]);
    assert_eq!(kind.field("content-type"), "application/x-x509-ca-cert");
    assert_eq!(kind.field("content-disposition"), "", "phones are to install it, not to keep it");
    assert!(!kind.text().contains("PRIVATE"));
    // Not under a name: what is blocked is blocked, whatever its path.
    let blocked = edge.ask("GET /ca.crt", &[]);
    assert!(blocked.body.is_empty());
    let row = edge.rows_at_least(5).remove(1);
    assert_eq!((row.status, row.source), (200, vocab::Source::Local));
}
