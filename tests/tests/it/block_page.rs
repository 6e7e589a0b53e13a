//! The owner's page, or redirect, in place of the one that says why.

use tidegate_tests::Scratch;
use tidegate_tests::clients::curl_with_head;
use tidegate_tests::origin::header;
use tidegate_tests::tidegate::{Tidegate, refused};

fn config(page: &str) -> String {
    format!(
        r#"
policy: {{ lists: [{{ name: mine, rules: ["||ads.example^"] }}], block_page: {page:?} }}
pixel: {{ listen: ["http://127.0.0.1:0"] }}
proxy: {{ listen: ["http://127.0.0.1:0"] }}
admin: {{ listen: "127.0.0.1:0" }}
"#
    )
}

/// What a person is shown for a blocked page, at the pixel and at the proxy door.
fn shown(edge: &Tidegate, path: &str) -> [(u16, String); 2] {
    let url = format!("http://ads.example{path}");
    let pixel = format!("::{}", edge.address("pixel", "http"));
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    [["--connect-to", &pixel], ["-x", &proxy]]
        .map(|way| curl_with_head(&[&["-H", "Accept: text/html"], &way[..], &[&url]].concat()))
}

#[test]
fn people_see_the_owners_page_with_the_values_escaped() {
    let scratch = Scratch::new();
    scratch.write("blocked.html", "<style>p{color:red}</style><h1>{{host}}</h1><p>{{rule}} in {{list}}, {{reason}}, {{url}}</p>");
    let edge = Tidegate::start_in(scratch, &config("blocked.html"));
    for (status, answer) in shown(&edge, "/?a=1&b") {
        assert_eq!(status, 403, "{answer}");
        for part in
            ["<h1>ads.example</h1>", "||ads.example^ in mine, rule, http://ads.example/?a=1&amp;b"]
        {
            assert!(answer.contains(part), "{answer}");
        }
        assert!(header(&answer, "content-security-policy").unwrap().contains("default-src 'none'"));
    }
    edge.scratch.write("blocked.html", "<h1>new: {{host}}</h1>");
    edge.told(&["ctl", "reload"]);
    assert!(shown(&edge, "/")[0].1.contains("new: ads.example"));
}

#[test]
fn people_are_sent_to_the_owners_address() {
    let edge =
        Tidegate::start(&config("https://intranet.test/blocked?host={host}&client={client}"));
    for (status, answer) in shown(&edge, "/") {
        assert_eq!(status, 302, "{answer}");
        let to = header(&answer, "location").unwrap();
        assert_eq!(to, "https://intranet.test/blocked?host=ads%2Eexample&client=127%2E0%2E0%2E1");
    }
}

#[test]
fn a_page_that_is_missing_or_has_a_wrong_slot_is_told_with_its_place() {
    let scratch = Scratch::new();
    let state = scratch.path().join("state");
    let (said, _) = refused(&config("none.html"), &scratch, &state);
    assert!(said.contains("policy.block_page: ") && said.contains("No such file"), "{said}");
    scratch.write("none.html", "{{hots}}");
    let (said, _) = refused(&config("none.html"), &scratch, &state);
    assert!(said.contains("{{hots}} is no slot of a block page; write one of host, url"), "{said}");
    let (said, _) = refused(&config("https://{host}/"), &scratch, &state);
    assert!(said.contains("leads nowhere"), "{said}");
}
