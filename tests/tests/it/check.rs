//! `tidegate check`: every complaint at once, each with file, line, column and remedy.

use tidegate_tests::{Scratch, tidegate};

/// Checks a file; what was said and the exit code.
fn check(yaml: &str) -> (String, Option<i32>) {
    let scratch = Scratch::new();
    let path = scratch.write("edge.yaml", yaml);
    let output = tidegate::run(&["check", "--config", path.to_str().unwrap()]);
    let said =
        String::from_utf8_lossy(&output.stderr).replace(&path.display().to_string(), "edge.yaml");
    (said, output.status.code())
}

#[test]
fn the_contract_example_passes_but_for_what_is_named_as_not_built() {
    let (said, code) = check("dns: { listen: [\"udp://127.0.0.1:53\"], upstreams: [1.1.1.1] }\n");
    assert_eq!((said.as_str(), code), ("", Some(0)));
}

#[test]
fn strictly_a_warning_is_a_failure() {
    let scratch = Scratch::new();
    let open = "dns: { listen: [\"udp://192.0.2.1:53\"], upstreams: [1.1.1.1] }\n";
    let path = scratch.write("edge.yaml", open);
    let path = path.to_str().unwrap();
    let output = tidegate::run(&["check", "--config", path]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("warning"), "{told}");
    let output = tidegate::run(&["check", "--strict", "--config", path]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("--strict takes none"), "{said}");
}

#[test]
fn every_complaint_comes_at_once_with_its_place() {
    let (said, code) = check(
        "dns:\n  listn: [\"udp://127.0.0.1:53\"]\n  blocked: pixels\n  cache: { size: lots }\nweb:\n  - { listen: [\"http://127.0.0.1\"], root: 5x, hots: [] }\nledger: { keep: forever }\n",
    );
    assert_eq!(code, Some(1));
    for part in [
        "edge.yaml:2:3: dns.listn: this key is not known; did you mean \"listen\"?",
        "edge.yaml:3:12: dns.blocked: expected one of",
        "did you mean \"pixel\"?",
        "edge.yaml:4:18: dns.cache.size:",
        "edge.yaml:6:47: web.0.hots: this key is not known; did you mean \"hosts\"?",
        "edge.yaml:7:17: ledger.keep:",
    ] {
        assert!(said.contains(part), "missing {part:?} in:\n{said}");
    }
}

#[test]
fn programs_of_a_fleet_and_a_user_to_become_are_refused_together() {
    let key = "ed25519:yxgUfdSxIKu59LcSvdf8uuVo93N6nDUWzNTn8jG0n+0=";
    let fleet = format!("fleet:\n  bundles: /b\n  keys: [{key:?}]\n  programs: true\n");
    let (said, code) = check(&format!("user: tidegate\n{fleet}"));
    assert_eq!(code, Some(1));
    for part in [
        "edge.yaml:5:13: fleet.programs: with user: tidegate, what is installed runs",
        "leave user out and have the service manager start Tidegate as tidegate",
    ] {
        assert!(said.contains(part), "missing {part:?} in:\n{said}");
    }
    let (said, code) = check(&fleet);
    assert_eq!((said.as_str(), code), ("", Some(0)));
    let (said, code) = check("fleet:\n  name: a\n  programs: true\n");
    assert_eq!(code, Some(1));
    assert!(said.contains("3:13: fleet.programs: without bundles no program comes"), "{said}");
}

#[test]
fn a_key_that_has_another_name_now_is_told_it() {
    let (said, code) = check(
        "gateway:\n  listen: [\"http://127.0.0.1:0\"]\n  pools:\n    app:\n      \
         servers: [\"http://127.0.0.1:1\"]\n      passive: { aside: 5s }\n",
    );
    assert_eq!(code, Some(1));
    let remedy = "gateway.pools.app.passive.aside: this key is not known; it is called \"ejection_time\" now";
    assert!(said.contains(remedy), "{said}");
}

#[test]
fn rules_and_list_files_that_do_nothing_are_complaints() {
    let rules = "policy:\n  lists:\n    - name: mine\n      rules: [\"||x.test^$unknownthing\", \
                 \"/(?=a)/\",\n        \"not a rule at all\", \"*\", \"||fine.test^\"]\n";
    let (said, code) = check(rules);
    assert_eq!(code, Some(1), "{said}");
    for part in [
        "edge.yaml:4:15: policy.lists.0.rules.0: the rule \"||x.test^$unknownthing\" is not in force",
        "edge.yaml:4:41: policy.lists.0.rules.1:",
        "edge.yaml:5:9: policy.lists.0.rules.2:",
        "edge.yaml:5:30: policy.lists.0.rules.3: the rule \"*\" is not in force: it would match nearly \
         everything; name what it is about; to block all that no rule lets pass, write otherwise: block",
    ] {
        assert!(said.contains(part), "missing {part:?} in:\n{said}");
    }
    let scratch = Scratch::new();
    scratch.write("sorry.txt", "Sorry, we moved.\nNothing is here\n");
    scratch.write("zone.rpz", "$TTL 2h\n@ IN SOA a. b. ( 1 2 3 4 5 )\nads.test CNAME .\n");
    let lists = "policy:\n  lists:\n    - { name: a, path: sorry.txt }\n    - { name: b, path: zone.rpz }\n";
    let config = scratch.write("edge.yaml", lists);
    let output = tidegate::run(&["check", "--config", config.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let told =
        "edge.yaml:3:24: policy.lists.0.path: list \"a\" is not in force: no line of it is a rule";
    assert!(said.contains(told), "{said}");
    assert!(!said.contains("policy.lists.1"), "a zone is a list:\n{said}");
    for (name, code) in [("sorry.txt", 1), ("zone.rpz", 0)] {
        let path = scratch.path().join(name);
        let output = tidegate::run(&["lists", "test", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(code), "{name}");
    }
}

#[test]
fn what_is_not_built_yet_is_refused_not_ignored() {
    for (yaml, word) in [
        ("dns: { listen: [\"udp://127.0.0.1:53\"], upstreams: [\"h3://1.1.1.1\"] }", "not yet"),
        (
            "dns: { listen: [\"udp://127.0.0.1:53\"], upstreams: [1.1.1.1], pipeline: [{ type: forward }] }",
            "pipeline",
        ),
        ("plugins: [{ tag: a, type: upgrade, args: {} }]", "not yet"),
    ] {
        let (said, code) = check(yaml);
        assert_eq!(code, Some(1), "accepted: {yaml}");
        assert!(said.contains(word), "{word:?} is not named for {yaml}:\n{said}");
        assert!(said.contains("edge.yaml:1:"), "no place for {yaml}:\n{said}");
    }
}

#[test]
fn a_url_that_no_list_can_be_fetched_from_has_its_place() {
    for url in ["https://ann:secret@lists.example/a.txt", "https://", "ftp://lists.example/a.txt"] {
        let (said, code) =
            check(&format!("policy: {{ lists: [{{ name: a, url: \"{url}\" }}] }}\n"));
        assert_eq!(code, Some(1), "{url}");
        assert!(said.starts_with("edge.yaml:1:35: policy.lists.0.url:"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn a_list_file_that_is_not_there_is_named_with_a_remedy() {
    let (said, code) = check("policy: { lists: [{ name: ads, path: gone.txt }] }\n");
    assert_eq!(code, Some(1));
    assert!(said.contains("gone.txt") && said.contains("\"ads\""), "{said}");
    assert!(said.starts_with("edge.yaml:1:38: policy.lists.0.path:"), "{said}");
}

#[test]
fn a_folder_or_pattern_file_that_is_not_there_has_its_place() {
    let (said, code) = check(
        "web:\n  - { listen: [\"http://127.0.0.1:8000\"], root: gone }\ngateway:\n  listen: [\"http://127.0.0.1:8081\"]\n  routes: [{ path: \"/*\", block: { patterns: gone.txt } }]\n",
    );
    assert_eq!(code, Some(1));
    assert!(said.contains("edge.yaml:2:48: web.0.root: gone:"), "{said}");
    assert!(
        said.contains("edge.yaml:5:") && said.contains("gateway.routes.0.block.patterns"),
        "{said}"
    );
}

#[test]
fn broken_yaml_says_where() {
    let (said, code) = check("dns:\n  listen: [\n");
    assert_eq!(code, Some(1));
    assert!(said.starts_with("edge.yaml:") && said.contains("no YAML"), "{said}");
    let (said, _) = check("dns: {}\ndns: {}\n");
    assert!(said.contains("edge.yaml:2:"), "{said}");
}

#[test]
fn one_address_claimed_twice_is_a_complaint() {
    let (said, code) = check(
        "proxy: { listen: [\"http://127.0.0.1:3128\"] }\nweb: [{ listen: [\"http://127.0.0.1:3128\"], root: . }]\n",
    );
    assert_eq!(code, Some(1));
    assert!(said.contains("127.0.0.1:3128 is already taken by proxy.listen.0"), "{said}");
}

#[test]
fn a_proxy_with_all_its_settings_is_right_and_a_wrong_one_is_named_by_place() {
    let token = format!("sha256:{}", "0".repeat(64));
    let hash = "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1";
    let proxy = |parent: &str| {
        format!(
            "policy: {{ clients: [{{ name: ann, match: [\"user:ann\"] }}] }}\n\
             proxy:\n  listen: [\"http://127.0.0.1:3128\", \"https://127.0.0.1:3129\"]\n  \
             auth: {{ users: {{ ann: {hash:?} }}, tokens: {{ phone: {token:?} }}, exempt: [127.0.0.1] }}\n  \
             tls: {{ names: [proxy.lan] }}\n  connect_sni: require\n  fetch_ports: [80]\n  \
             parent: {parent}\n  \
             parents: [{{ domains: [onion, 10.0.0.0/8], parent: \"socks5://127.0.0.1:9050\" }}]\n  \
             censor: [X-Client-Data]\n  referer: same-site\n  via: off\n  x_forwarded_for: on\n  \
             pac: {{ bypass: [lan.example], fallback: direct }}\n"
        )
    };
    for parent in
        ["direct", "\"http://me:p%40ss@10.0.0.1:3128\"", "[\"https://p.example:443\", direct]"]
    {
        let (said, code) = check(&proxy(parent));
        assert_eq!((said.as_str(), code), ("", Some(0)), "{parent}");
    }
    for (parent, part) in [
        ("\"http://127.0.0.1:3128\"", "proxy.parent: the parent is this proxy itself"),
        ("\"ftp://10.0.0.1:21\"", "proxy.parent"),
        ("\"socks4://10.0.0.1:1080\"", "proxy.parent: \"socks4://10.0.0.1:1080\" is no"),
        ("\"socks4a://me:pw@10.0.0.1:1080\"", "socks4a:// knows no user and password"),
        ("[direct, \"http://me:hunter2@10.0.0.1\"]", "proxy.parent.1: \"http://…@10.0.0.1\" is no"),
        ("[]", "proxy.parent: there are 0 ways out"),
    ] {
        let (said, code) = check(&proxy(parent));
        assert_eq!(code, Some(1), "{parent}");
        assert!(said.contains("edge.yaml:8:") && said.contains(part), "{parent}: {said}");
    }
    let (said, code) = check("proxy: { auth: { users: { ann: hunter2 } } }\n");
    assert_eq!(code, Some(1));
    assert!(said.contains("htpasswd") && !said.contains("hunter2"), "{said}");
}

#[test]
fn the_schema_is_json_and_names_the_sections() {
    let output = tidegate::run(&["schema"]);
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for section in ["policy", "dns", "pixel", "proxy", "web", "gateway", "admin", "ledger"] {
        assert!(schema["properties"].get(section).is_some(), "{section}");
    }
}

#[test]
fn a_local_pixel_address_is_worth_a_word_and_no_error() {
    let scratch = Scratch::new();
    let check = |address: &str, blocked: &str| {
        let yaml = format!(
            "dns: {{ listen: [\"udp://127.0.0.1:5353\"], upstreams: [1.1.1.1], blocked: {blocked} }}\npixel:\n  listen: [\"http://{address}:8080\"]\n  addresses: [{address}]\n"
        );
        let path = scratch.write("edge.yaml", yaml);
        let output = tidegate::run(&["check", "--config", path.to_str().unwrap()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = check("192.168.1.2", "pixel");
    for part in ["edge.yaml:4:15: pixel.addresses.0: warning: 192.168.1.2", "192.0.2.1", "fine"] {
        assert!(said.contains(part), "{part:?} is missing: {said}");
    }
    let gated = "pixel.addresses.0: warning";
    assert!(!check("192.0.2.1", "pixel").contains(gated));
    assert!(!check("192.168.1.2", "nodata").contains(gated), "nobody is sent there");
}

#[test]
fn doors_that_strangers_can_use_are_warned_of() {
    let scratch = Scratch::new();
    let yaml = "dns:\n  listen: [\"udp://0.0.0.0:5353\"]\n  upstreams: [\"127.0.0.1:5353\"]\n  \
                rewrites: [\"a.example b.example\", \"b.example a.example\"]\nproxy:\n  \
                listen: [\"http://0.0.0.0:3128\"]\n  clients: [\"0.0.0.0/0\"]\n  \
                destinations: any\nadmin: { listen: \"0.0.0.0:9053\" }\n";
    let path = scratch.write("edge.yaml", yaml);
    let output = tidegate::run(&["check", "--config", path.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "warnings are no errors: {said}");
    for part in [
        "edge.yaml:2:12: dns.listen.0: warning: everybody",
        "edge.yaml:3:15: dns.upstreams.0: warning: 127.0.0.1:5353 is this door itself",
        "edge.yaml:4:14: dns.rewrites.0: warning: these rewrites lead in a circle",
        "edge.yaml:7:13: proxy.clients.0: warning: anybody",
        "edge.yaml:8:17: proxy.destinations: warning:",
        "edge.yaml:9:18: admin.listen: warning:",
    ] {
        assert!(said.contains(part), "{part:?} is missing: {said}");
    }
}

#[test]
fn secrets_that_all_can_read_and_ports_that_are_taken_are_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let scratch = Scratch::new();
    scratch.write(
        "users.htpasswd",
        "ann:$2y$07$BCryptRequires22Chrcte/VlQH0piJtjXl.0t1XkA8pw9dMXTTOq\n",
    );
    scratch.write("www/index.html", "here");
    let yaml = format!(
        "proxy:\n  listen: [\"http://{at}\"]\n  parent: \"http://me:secret@10.0.0.1:3128\"\nweb:\n  - \
         listen: [\"http://192.0.2.7:8000\"]\n    root: www\n    auth: [{{ path: \"/*\", realm: r, \
         file: users.htpasswd }}]\nadmin: {{ listen: \"127.0.0.1:0\" }}\n"
    );
    let path = scratch.write("edge.yaml", yaml);
    let said = |mode: u32| {
        for file in ["users.htpasswd", "edge.yaml"] {
            let file = scratch.path().join(file);
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let state = scratch.path().join("state");
        let output = std::process::Command::new(tidegate::binary())
            .args(["check", "--config"])
            .arg(&path)
            .arg("--state")
            .arg(state)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let open = said(0o644);
    for part in [
        "users.htpasswd: warning: every user",
        "edge.yaml: warning: every user",
        &format!("proxy.listen.0: warning: cannot listen on {at}: another process does"),
        "web.0.listen.0: warning: cannot listen on 192.0.2.7:8000: this machine has no such",
    ] {
        assert!(open.contains(part), "{part:?} is missing: {open}");
    }
    drop(taken);
    let closed = said(0o640);
    assert!(!closed.contains("every user") && !closed.contains("another process"), "{closed}");
}
