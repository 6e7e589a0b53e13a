//! What configurations of DNS forwarders and forward proxies become: checked, started, asked.

use std::path::Path;
use std::process::Command;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, dig, dig_short};
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{Tidegate, run};

/// The configuration that an import makes of a file, which `check` takes; at ports that are free.
fn imported(program: &str, path: &Path, scratch: &Scratch) -> String {
    let output = run(&["import", program, path.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{told}");
    let mut yaml = String::from_utf8(output.stdout).unwrap();
    for port in ["53", "80", "443", "3128", "8118"] {
        yaml = yaml.replace(&format!(":{port}\""), ":0\"");
    }
    let file = scratch.write("made.yaml", &yaml);
    let state = scratch.path().join("check-state");
    let (file, state) = (file.to_str().unwrap(), state.to_str().unwrap());
    let checked = run(&["--config", file, "--state", state, "check"]);
    let said = String::from_utf8_lossy(&checked.stdout);
    let wrong = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{wrong}\n{yaml}");
    // Whoever answers any name is warned, whoever he came from.
    assert!(program == "pixelserv" || !said.contains("warning"), "{said}\n{yaml}");
    format!("{yaml}\nadmin: {{ listen: \"127.0.0.1:0\" }}\n")
}

fn upstream() -> Resolver {
    let there = Reply::Address("192.0.2.80".parse().unwrap());
    Resolver::start(&[("www.example.com", there.clone()), ("cdn.example.com", there)])
}

#[test]
fn adguard_homes_rules_and_rewrites_answer_as_they_did() {
    let (upstream, scratch) = (upstream(), Scratch::new());
    let text = format!(
        "dns:\n  bind_hosts: [127.0.0.1]\n  port: 53\n  upstream_dns: ['{}']\n\
         user_rules: ['||ads.example.com^', '@@||good.ads.example.com^']\n\
         filtering:\n  blocking_mode: nxdomain\n  safe_search: {{ enabled: true, bing: true }}\n  \
         rewrites: [{{ domain: nas.home, answer: 192.168.1.9 }}]\n\
         clients:\n  persistent:\n    - {{ name: me, ids: [127.0.0.1], tags: [user_child], \
         use_global_settings: true, use_global_blocked_services: false, \
         blocked_services: {{ ids: [reddit] }} }}\nschema_version: 30\n",
        upstream.address
    );
    let file = scratch.write("AdGuardHome.yaml", text);
    let edge = Tidegate::start(&imported("adguard-home", &file, &scratch));
    let at = edge.address("dns", "udp");
    assert_eq!(dig_short(at, &["nas.home"]).trim(), "192.168.1.9");
    assert_eq!(dig_short(at, &["www.example.com"]).trim(), "192.0.2.80");
    assert!(dig(at, &["x.ads.example.com"]).contains("NXDOMAIN"));
    assert!(dig(at, &["www.reddit.com"]).contains("NXDOMAIN"), "a service of this client");
    assert!(dig(at, &["www.bing.com"]).contains("strict.bing.com."));
    let why = edge.told(&["why", "x.good.ads.example.com", "--client", "127.0.0.1"]);
    assert!(why.contains("@@||good.ads.example.com^"), "{why}");
}

/// Pi-hole's folder with a database of its own, made by `sqlite3` of Python.
fn pihole(scratch: &Scratch, upstream: &Resolver) -> std::path::PathBuf {
    let upstream = upstream.address.to_string().replace(':', "#");
    let toml = format!(
        "[dns]\n  upstreams = [ \"{upstream}\" ]\n  hosts = [ \"192.168.1.9 nas\" ]\n  \
         domain = \"lan\"\n  expandHosts = true\n  listeningMode = \"LOCAL\"\n  \
         cnameRecords = [ \"files.lan,nas.lan\" ]\n  [dns.blocking]\n    mode = \"NXDOMAIN\"\n"
    );
    let file = scratch.write("pihole/pihole.toml", toml);
    let made = Command::new("python3")
        .arg("-c")
        .arg(
            "import sqlite3, sys\nd = sqlite3.connect(sys.argv[1])\nd.executescript('''\n\
             CREATE TABLE domainlist (id INTEGER, type INTEGER, domain TEXT, enabled BOOLEAN);\n\
             INSERT INTO domainlist VALUES (1, 1, 'bad.example.com', 1),\n\
             (2, 3, '(\\\\.|^)ads[0-9]*\\\\.example\\\\.com$', 1), (3, 0, 'ads1.example.com', 1),\n\
             (4, 1, 'www.example.com', 0);\n''')\nd.commit()",
        )
        .arg(scratch.path().join("pihole/gravity.db"))
        .status()
        .unwrap();
    assert!(made.success());
    file.parent().unwrap().to_owned()
}

#[test]
fn pi_holes_database_blocks_and_lets_pass_what_it_did() {
    let (upstream, scratch) = (upstream(), Scratch::new());
    let folder = pihole(&scratch, &upstream);
    let edge = Tidegate::start(&imported("pihole", &folder, &scratch));
    let at = edge.address("dns", "udp");
    for name in ["nas.lan", "nas", "files.lan"] {
        assert!(dig_short(at, &[name]).trim().ends_with("192.168.1.9"), "{name}");
    }
    for name in ["bad.example.com", "ads7.example.com"] {
        assert!(dig(at, &[name]).contains("NXDOMAIN"), "{name}");
    }
    assert_eq!(dig_short(at, &["www.example.com"]).trim(), "192.0.2.80", "that rule is off");
    let why = edge.told(&["why", "ads1.example.com"]);
    assert!(why.contains("allowed domains"), "{why}");
}

#[test]
fn dnsmasqs_and_unbounds_names_answer_as_they_did() {
    let upstream = upstream();
    let (ip, port) = (upstream.address.ip(), upstream.address.port());
    let dnsmasq = format!(
        "listen-address=127.0.0.1\nno-resolv\nserver={ip}#{port}\naddress=/ads.example.com/\n\
         address=/nas.example.com/192.168.1.9\ncname=files.lan,nas.example.com\nlocal=/lan/\n"
    );
    let unbound = format!(
        "server:\n  interface: 127.0.0.1\n  local-zone: \"ads.example.com\" always_nxdomain\n  \
         local-data: \"nas.example.com A 192.168.1.9\"\n  local-zone: \"lan\" static\n  \
         local-data: \"files.lan A 192.168.1.9\"\n\
         forward-zone:\n  name: \".\"\n  forward-addr: {ip}@{port}\n"
    );
    let blocky = format!(
        "upstreams: {{ groups: {{ default: ['{ip}:{port}'] }} }}\n\
         customDNS: {{ mapping: {{ nas.example.com: 192.168.1.9, files.lan: 192.168.1.9 }} }}\n\
         blocking:\n  denylists:\n    ads:\n      - |\n        *.ads.example.com\n        \
         none.lan\n  clientGroupsBlock: {{ default: [ads] }}\n  blockType: nxDomain\n\
         ports: {{ dns: 127.0.0.1:53 }}\n"
    );
    for (program, name, text) in [
        ("dnsmasq", "dnsmasq.conf", dnsmasq),
        ("unbound", "unbound.conf", unbound),
        ("blocky", "config.yml", blocky),
    ] {
        let scratch = Scratch::new();
        let file = scratch.write(name, text);
        let edge = Tidegate::start(&imported(program, &file, &scratch));
        let at = edge.address("dns", "udp");
        for name in ["nas.example.com", "files.lan"] {
            let told = dig_short(at, &[name]);
            assert!(told.trim().ends_with("192.168.1.9"), "{program}: {name}: {told}");
        }
        assert_eq!(dig_short(at, &["www.example.com"]).trim(), "192.0.2.80", "{program}");
        assert_eq!(dig_short(at, &["x.ads.example.com"]).trim(), "", "{program}");
        assert_eq!(dig_short(at, &["none.lan"]).trim(), "", "{program}");
    }
}

#[test]
fn squids_and_privoxys_proxies_refuse_what_they_refused() {
    let origin = Origin::start(&[
        ("/page", Page::new("text/plain", "the page")),
        ("/banner/x", Page::new("text/plain", "an ad")),
    ]);
    let port = origin.address.port();
    let squid = format!(
        "acl lan src 127.0.0.0/8\nacl Safe_ports port 80 443 {port}\nacl CONNECT method CONNECT\n\
         acl bad dstdomain .ads.example\nacl words url_regex -i /banner/\n\
         http_access deny !Safe_ports\nhttp_access deny CONNECT !Safe_ports\n\
         http_access deny bad\nhttp_access deny words\nhttp_access allow lan\n\
         http_access deny all\nhttp_port 127.0.0.1:3128\nrefresh_pattern . 0 20% 4320\n"
    );
    let privoxy = "listen-address 127.0.0.1:8118\nactionsfile user.action\n".to_owned();
    for (program, name, text) in [("squid", "squid.conf", squid), ("privoxy", "config", privoxy)] {
        let scratch = Scratch::new();
        scratch.write("user.action", "{+block{Ads}}\n.ads.example\n/banner/\n");
        let file = scratch.write(name, text);
        let edge = Tidegate::start(&imported(program, &file, &scratch));
        let proxy = format!("http://{}", edge.address("proxy", "http"));
        let get = |url: &str| curl(&["--proxy", &proxy, "--noproxy", "", url]);
        let at = format!("http://{}", origin.address);
        assert_eq!(get(&format!("{at}/page")), (200, "the page".into()), "{program}");
        assert_ne!(get(&format!("{at}/banner/x")).1, "an ad", "{program}");
        let why = edge.told(&["why", "http://x.ads.example/", "--door", "proxy"]);
        assert!(why.contains("||ads.example^"), "{program}: {why}");
        assert_eq!(get("http://127.0.0.1:1/").0, 403, "{program}: a port that is not fetched from");
    }
}

#[test]
fn pixelserv_tlss_script_becomes_a_door_that_answers_any_name() {
    let scratch = Scratch::new();
    let script = "PROCS=pixelserv-tls\nARGS=\"127.0.0.1 -p 80 -k 443 -l 3 -z /opt/ca -T 300\"\n";
    let file = scratch.write("S80pixelserv-tls", script);
    let edge = Tidegate::start(&imported("pixelserv", &file, &scratch));
    let at = edge.address("pixel", "http");
    let resolve = format!("any.example:{}:127.0.0.1", at.port());
    let url = format!("http://any.example:{}/x.gif", at.port());
    assert_eq!(curl(&["--resolve", &resolve, "-o", "/dev/null", &url]).0, 200);
}

#[test]
fn a_comparison_shows_each_line_and_writes_nothing() {
    let scratch = Scratch::new();
    let file = scratch.write("dnsmasq.conf", "server=9.9.9.9\ndhcp-range=10.0.0.2,10.0.0.9\n");
    let made = scratch.path().join("tidegate.yaml");
    let (file, made) = (file.to_str().unwrap(), made.to_str().unwrap());
    let args = ["import", "dnsmasq", file, "--output", made, "--dry-run", "--compare"];
    let told = String::from_utf8(run(&args).stdout).unwrap();
    assert!(told.contains("carried   server=9.9.9.9") && told.contains("dns.upstreams"), "{told}");
    assert!(told.contains("left out  dhcp-range=10.0.0.2,10.0.0.9"), "{told}");
    assert!(!Path::new(made).exists());
    let json = run(&[&args[..6], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let mut notes = json["notes"].as_array().unwrap().iter();
    assert_eq!(notes.find(|note| note["line"] == 2).unwrap()["fate"], "left out");
    // What is written once is somebody's: it is not written over.
    assert!(run(&args[..5]).status.success() && Path::new(made).exists());
    assert_eq!(run(&args[..5]).status.code(), Some(1));
}
