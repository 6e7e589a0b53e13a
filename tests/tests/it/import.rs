//! What another program's configuration becomes, run.

use tidegate_tests::Scratch;
use tidegate_tests::clients::curl;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::tidegate::{Tidegate, run};

#[test]
fn polipos_configuration_becomes_a_proxy_that_forbids_what_it_forbade() {
    let origin = Origin::start(&[
        ("/page", Page::new("text/plain", "the page")),
        ("/ads/page", Page::new("text/plain", "an ad")),
    ]);
    let scratch = Scratch::new();
    let forbidden = scratch.write("forbidden", "# what nobody wants\ncounter.example\n/ads/\n");
    let polipo = scratch.write(
        "config",
        format!("proxyPort = 0\npmmSize = 8192\nforbiddenFile = \"{}\"\n", forbidden.display()),
    );
    let output = run(&["import", "polipo", polipo.to_str().unwrap()]);
    let yaml = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && yaml.contains("line 2, pmmSize:"), "{yaml}");

    let edge = Tidegate::start(&format!("{yaml}\nadmin: {{ listen: \"127.0.0.1:0\" }}\n"));
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let get = |url: &str| curl(&["--proxy", &proxy, "--noproxy", "", url]).1;
    let at = format!("http://{}", origin.address);
    assert_eq!(get(&format!("{at}/page")), "the page");
    assert_ne!(get(&format!("{at}/ads/page")), "an ad");
    let blocked = edge.told(&["why", "http://www.counter.example/", "--door", "proxy"]);
    assert!(blocked.contains("||counter.example^"), "{blocked}");
    assert_eq!(origin.lines().len(), 1, "what is forbidden is asked of nobody");
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    let scratch = Scratch::new();
    let polipo = scratch.write("config", "proxyPort = 8123\nallowedClients = everybody\n");
    let output = run(&["import", "polipo", polipo.to_str().unwrap()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("config:2:1: allowedClients: \"everybody\" is no network; write"),
        "{said}"
    );
}
