//! Letting a blocked name through for a while: by command, and over reloads and restarts.

use std::net::Ipv4Addr;
use tidegate_tests::clients::{curl, dig, dig_short};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;

const YAML: &str = r#"
policy: { lists: [{ name: mine, rules: ["||shop.example^", "||ads.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"] }
admin: { listen: "127.0.0.1:0" }
"#;

fn upstream() -> Resolver {
    let at = Reply::Address(Ipv4Addr::new(192, 0, 2, 10));
    Resolver::start(&[("www.shop.example", at)])
}

fn passes(edge: &Tidegate) -> bool {
    dig_short(edge.address("dns", "udp"), &["www.shop.example"]).trim() == "192.0.2.10"
}

#[test]
fn what_is_let_through_outlives_reload_and_kill_9_until_it_is_taken_back() {
    let upstream = upstream();
    let yaml = YAML.replace("UPSTREAM", &upstream.address.to_string());
    let edge = Tidegate::start(&yaml);
    assert!(!passes(&edge));
    let said = edge.told(&["ctl", "allow", "shop.example", "--for", "1h"]);
    assert!(said.starts_with("shop.example passes for everybody until 20"), "{said}");
    assert!(passes(&edge), "at once");
    assert!(dig(edge.address("dns", "udp"), &["ads.example"]).contains("EDE: 15"));
    edge.told(&["ctl", "reload"]);
    assert!(passes(&edge), "over a reload");

    let (_, scratch) = edge.stop_by("KILL");
    let edge = Tidegate::start_in(scratch, &yaml);
    assert!(passes(&edge), "over a restart");
    assert_eq!(edge.told(&["ctl", "allows"]).lines().count(), 1);
    edge.told(&["ctl", "revoke", "shop.example"]);
    assert!(!passes(&edge), "blocked again");

    let (_, scratch) = edge.stop_by("KILL");
    std::fs::write(scratch.path().join("state/allows.json"), "{").unwrap();
    let edge = Tidegate::start_in(scratch, &yaml);
    assert_eq!(edge.told(&["ctl", "allows"]).trim(), "nothing is let through");
}

#[test]
fn what_is_blocked_by_hand_outlives_reload_and_kill_9_until_it_is_taken_back() {
    let upstream =
        Resolver::start(&[("www.game.example", Reply::Address(Ipv4Addr::new(192, 0, 2, 10)))]);
    let yaml = YAML.replace("UPSTREAM", &upstream.address.to_string());
    let edge = Tidegate::start(&yaml);
    let asked = |edge: &Tidegate| dig(edge.address("dns", "udp"), &["www.game.example"]);
    assert!(asked(&edge).contains("192.0.2.10"));
    let said = edge.told(&["ctl", "block", "game.example", "--always"]);
    assert_eq!(said.trim(), "game.example is blocked for everybody always, until it is unblocked");
    assert!(asked(&edge).contains("EDE: 15"), "at once, cached or not");
    edge.told(&["ctl", "reload"]);
    assert!(asked(&edge).contains("EDE: 15"), "over a reload");
    let (_, scratch) = edge.stop_by("KILL");
    let edge = Tidegate::start_in(scratch, &yaml);
    assert!(asked(&edge).contains("EDE: 15"), "over a restart");
    let told = edge.told(&["why", "www.game.example"]);
    assert!(told.contains("game.example is blocked by hand"), "{told}");
    let wrong = edge.command(&["ctl", "revoke", "game.example"]);
    assert_eq!(wrong.status.code(), Some(1), "it is no allow");
    let none = edge.command(&["ctl", "block", "game.example", "--profile", "nobody"]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("there is no profile"), "{none:?}");
    edge.told(&["ctl", "unblock", "game.example"]);
    assert!(asked(&edge).contains("192.0.2.10"), "as before");
    assert_eq!(edge.told(&["ctl", "blocks"]).trim(), "nothing is blocked by hand");
}

#[test]
fn one_client_may_have_what_others_have_not() {
    let upstream = upstream();
    let edge = Tidegate::start(&YAML.replace("UPSTREAM", &upstream.address.to_string()));
    edge.told(&["ctl", "allow", "shop.example", "--client", "192.0.2.77"]);
    assert!(!passes(&edge));
    edge.told(&["ctl", "allow", "shop.example", "--client", "127.0.0.1"]);
    assert!(passes(&edge));
    let wrong = edge.command(&["ctl", "revoke", "shop.example"]);
    assert_eq!(wrong.status.code(), Some(1), "that is another leave");
}

#[test]
fn always_is_until_it_is_revoked() {
    let upstream = upstream();
    let yaml = YAML.replace("UPSTREAM", &upstream.address.to_string());
    let edge = Tidegate::start(&yaml);
    let said = edge.told(&["ctl", "allow", "shop.example", "--always"]);
    assert_eq!(said.trim(), "shop.example passes for everybody always, until it is revoked");
    assert!(passes(&edge));
    let (_, scratch) = edge.stop_by("KILL");
    let edge = Tidegate::start_in(scratch, &yaml);
    assert!(passes(&edge), "over a restart");
    let why = edge.told(&["ctl", "allows"]);
    assert_eq!(why, said);
    edge.told(&["ctl", "revoke", "shop.example"]);
    assert!(!passes(&edge));
}

#[test]
fn a_length_that_is_none_is_refused() {
    let upstream = upstream();
    let edge = Tidegate::start(&YAML.replace("UPSTREAM", &upstream.address.to_string()));
    for (span, part) in [
        ("25h", "1 to 1440 minutes"),
        ("30s", "whole minutes only"),
        ("soon", "write 5m, 1h, 24h or always"),
    ] {
        let output = edge.command(&["ctl", "allow", "shop.example", "--for", span]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(part), "{part:?} is missing: {said}");
    }
    let whole = edge.command(&["ctl", "allow", "example"]);
    assert!(String::from_utf8_lossy(&whole.stderr).contains("top-level domain"));
    assert!(!passes(&edge));
}

#[test]
fn the_block_page_leads_to_the_page_that_lets_the_name_through() {
    let edge = Tidegate::start(
        r#"
policy: { lists: [{ name: mine, rules: ["||shop.example^"] }] }
pixel: { listen: ["http://127.0.0.1:0"], addresses: [127.0.0.1] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://127.0.0.1:9"], timeout: 100ms }
admin: { listen: "127.0.0.1:0" }
"#,
    );
    let (pixel, admin) = (edge.address("pixel", "http"), edge.address("admin", "http"));
    let to = format!("::{pixel}");
    let url = "http://shop.example/a?b=c";
    let page = ["-H", "Accept: text/html", "--connect-to", &to, url];
    let (status, block) = curl(&page);
    assert_eq!(status, 403);
    let mark = format!("href=\"http://{admin}/allow?");
    let at = block.find(&mark).unwrap_or_else(|| panic!("no {mark} in {block}")) + 6;
    let link = block[at..].split('"').next().unwrap().replace("&amp;", "&");

    let jar = edge.scratch.path().join("cookies");
    let jar = jar.to_str().unwrap();
    let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let login = format!("http://{admin}/?token={}", token.trim());
    curl(&["-c", jar, &login]);
    let (status, choose) = curl(&["-b", jar, &link]);
    assert_eq!(status, 200);
    assert!(
        choose.contains("||shop.example^") && choose.contains("shop.example/a?b=c"),
        "{choose}"
    );
    let once = choose.split("name=\"once\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let form = format!("host=shop.example&client=127.0.0.1&back=&once={once}&whom=client&act=5");
    let origin = format!("Origin: http://{admin}");
    let act = format!("http://{admin}/allow");
    let (status, _) = curl(&["-b", jar, "-H", &origin, "-d", &form, &act]);
    assert_eq!(status, 303);
    assert_eq!(curl(&page).0, 421, "its own server cannot be found here");
    assert!(edge.told(&["ctl", "allows"]).starts_with("shop.example passes for 127.0.0.1 until"));
}
