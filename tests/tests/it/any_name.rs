//! The pixel door behind another blocker: names that no rule of ours blocks.

use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl_with_head, openssl};
use tidegate_tests::tidegate::{Tidegate, refused};
use tidegate_tests::wait;

const RULES: &str = r#"
policy: { lists: [{ name: mine, rules: ["||ads.com^", "@@||good.example^"] }] }
admin: { listen: "127.0.0.1:0" }
"#;
const ANY: &str = r#"
pixel: { listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"], any_name: true }
signer: { names: any, own_domains: [home.example] }
"#;

/// The status and answer to a request for `url`, whose certificate our authority must have signed.
fn fetch(edge: &Tidegate, url: &str) -> (u16, String) {
    let scheme = url.split(':').next().unwrap();
    let connect = format!("::127.0.0.1:{}", edge.address("pixel", scheme).port());
    let ca = edge.state().join("ca/ca.pem");
    curl_with_head(&["--cacert", ca.to_str().unwrap(), "--connect-to", &connect, url])
}

/// The same as a person would ask for it over plain HTTP.
fn page(edge: &Tidegate, url: &str) -> (u16, String) {
    let connect = format!("::127.0.0.1:{}", edge.address("pixel", "http").port());
    curl_with_head(&["-H", "Accept: text/html", "--connect-to", &connect, url])
}

#[test]
fn names_that_no_rule_names_are_answered_and_certified_alone() {
    let edge = Tidegate::start(&format!("{RULES}{ANY}"));
    for (url, kind) in [
        ("https://elsewhere.test/x.js", "text/javascript"),
        ("https://a.b.tracker.com/x.gif", "image/gif"),
        ("https://x.ads.com/x.js", "text/javascript"),
        ("http://elsewhere.test/x.js", "text/javascript"),
    ] {
        let (status, answer) = fetch(&edge, url);
        assert_eq!(status, 200, "{url}: {answer}");
        assert!(answer.contains(kind), "{url}: {answer}");
    }
    let (status, page) = page(&edge, "http://elsewhere.test/");
    assert_eq!(status, 403, "{page}");
    assert!(!page.contains("/allow"), "only the other blocker can let it through: {page}");
    assert!(page.contains("another blocker of this network"), "{page}");
    let leaf = |name| openssl(edge.address("pixel", "https"), name, &["-showcerts"]);
    assert!(leaf("elsewhere.test").contains("BEGIN CERTIFICATE"));
    let audit = std::fs::read_to_string(edge.state().join("ca/audit.log")).unwrap();
    assert!(audit.contains(" a.b.tracker.com ") && !audit.contains("*.b.tracker.com"), "{audit}");
    assert!(audit.contains("*.ads.com"), "a blocked domain's is for what is below it: {audit}");
}

#[test]
fn names_that_a_rule_lets_pass_or_the_signer_excludes_get_no_certificate() {
    let edge = Tidegate::start(&format!("{RULES}{ANY}"));
    for name in ["good.example", "x.good.example", "shop.bank", "nas.home.example", "co.uk", "com"]
    {
        assert_eq!(fetch(&edge, &format!("https://{name}/x.js")).0, 0, "{name} was certified");
    }
    assert_eq!(page(&edge, "http://good.example/").0, 421, "a rule lets it pass");
}

#[test]
fn the_log_and_why_say_that_another_blocker_sent_it() {
    let edge = Tidegate::start(&format!("{RULES}{ANY}"));
    assert_eq!(fetch(&edge, "https://elsewhere.test/x.js").0, 200);
    let row = wait::until("the row", || {
        let rows = edge.api("/api/requests?door=pixel");
        rows["rows"].as_array()?.first().cloned()
    });
    assert_eq!((&row["action"], &row["cause"]), (&"block".into(), &"other_blocker".into()));
    let said = edge.told(&["why", "https://elsewhere.test/x.js", "--door", "pixel"]);
    assert!(said.contains("no rule names it, and pixel.any_name"), "{said}");
    let said = edge.told(&["why", "https://x.ads.com/x.js", "--door", "pixel"]);
    assert!(said.contains("||ads.com^"), "{said}");
}

#[test]
fn a_reload_widens_and_narrows_what_is_certified() {
    let plain = r#"
pixel: { listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"] }
"#;
    let edge = Tidegate::start(&format!("{RULES}{plain}"));
    let url = "https://elsewhere.test/x.js";
    assert_eq!(fetch(&edge, url).0, 0);
    for (section, status) in [(ANY, 200), (plain, 0)] {
        edge.scratch.write("tidegate.yaml", format!("{RULES}{section}"));
        edge.told(&["ctl", "reload"]);
        assert_eq!(fetch(&edge, url).0, status, "{section}");
    }
}

#[test]
fn door_and_signer_must_both_say_so_and_what_is_given_up_is_told() {
    let scratch = Scratch::new();
    let state = scratch.path().join("state");
    for (yaml, part) in [
        ("pixel: { any_name: true }", "pixel.any_name: over HTTPS any_name wants a certificate"),
        ("pixel: {}\nsigner: { names: any }", "signer.names: nothing asks for names"),
    ] {
        let (said, _) = refused(yaml, &scratch, &state);
        assert!(said.contains(part), "{said}");
    }
    let edge = Tidegate::start(&format!("{RULES}{ANY}"));
    let output = edge.command(&["check"]);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains("gets a certificate for any name but public suffixes"), "{said}");
}
