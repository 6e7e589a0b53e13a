//! Files as Pi-hole's users write them, and what they become.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
use super::*;
use crate::testing::OneFolder;

const TOML: &str = "[dns]
  # Servers
  upstreams = [ \"9.9.9.9\", \"127.0.0.1#5335\" ] ### CHANGED
  hosts = [ \"192.168.1.9 nas nas.lan\" ]
  cnameRecords = [ \"files.lan,nas.lan\" ]
  expandHosts = true
  domain = \"lan\"
  port = 5353
  listeningMode = \"LOCAL\"
  dnssec = true
  blockTTL = 2
  revServers = [ \"true,192.168.1.0/24,192.168.1.1,lan\" ]
  [dns.blocking]
    active = true
    mode = \"NXDOMAIN\"
  [dns.cache]
    size = 10000
  [dns.rateLimit]
    count = 1000
    interval = 60
[dhcp]
  active = true
[database]
  maxDBdays = 91
[misc]
  dnsmasq_lines = [ \"address=/ads.example/#\" ]
";

const GRAVITY: [(&str, &str); 8] = [
    (
        "/etc/pihole/gravity.db/adlist.json",
        r#"[{"id":1,"address":"https://lists.example/hosts.txt","enabled":1,"type":0},
            {"id":2,"address":"https://lists.example/kids.txt","enabled":true,"type":0},
            {"id":3,"address":"https://lists.example/allow.txt","enabled":1,"type":1},
            {"id":4,"address":"https://lists.example/off.txt","enabled":0,"type":0}]"#,
    ),
    (
        "/etc/pihole/gravity.db/adlist_by_group.json",
        r#"[{"adlist_id":1,"group_id":0},{"adlist_id":1,"group_id":1},{"adlist_id":2,"group_id":1},
            {"adlist_id":3,"group_id":0},{"adlist_id":4,"group_id":0}]"#,
    ),
    (
        "/etc/pihole/gravity.db/domainlist.json",
        r#"[{"id":1,"type":0,"domain":"good.example","enabled":1},
            {"id":2,"type":1,"domain":"bad.example","enabled":1},
            {"id":3,"type":3,"domain":"(\\.|^)tracker\\.example$","enabled":1},
            {"id":4,"type":3,"domain":"a(?=b)","enabled":1},
            {"id":5,"type":1,"domain":"video.example","enabled":1}]"#,
    ),
    (
        "/etc/pihole/gravity.db/domainlist_by_group.json",
        r#"[{"domainlist_id":1,"group_id":0},{"domainlist_id":2,"group_id":0},
            {"domainlist_id":3,"group_id":0},{"domainlist_id":4,"group_id":0},
            {"domainlist_id":5,"group_id":1}]"#,
    ),
    (
        "/etc/pihole/gravity.db/group.json",
        r#"[{"id":0,"enabled":1,"name":"Default"},{"id":1,"enabled":1,"name":"kids"}]"#,
    ),
    (
        "/etc/pihole/gravity.db/client.json",
        r#"[{"id":1,"ip":"192.168.1.50","comment":"Tablet"},{"id":2,"ip":"AA:BB:CC:00:11:22"},
            {"id":3,"ip":":wlan0"},{"id":4,"ip":"laptop.lan"}]"#,
    ),
    (
        "/etc/pihole/gravity.db/client_by_group.json",
        r#"[{"client_id":1,"group_id":1},{"client_id":2,"group_id":0},{"client_id":2,"group_id":1},
            {"client_id":3,"group_id":0}]"#,
    ),
    ("/etc/pihole/pihole.toml", TOML),
];

#[test]
fn version_six_is_carried_over_with_its_database() {
    let made = from_pihole(&["/etc/pihole".into()], &OneFolder::of(&GRAVITY)).unwrap();
    for due in [
        "\"udp://9.9.9.9\"",
        "\"udp://127.0.0.1:5335\"",
        "domains: [\"1.168.192.in-addr.arpa\", \"lan\"]",
        "\"nas.lan A 192.168.1.9\"",
        "rewrites: [\"files.lan nas.lan\"]",
        "udp://0.0.0.0:5353",
        "blocked: \"nxdomain\"",
        "burst: 1000, queries_per_second: 17",
        "keep: \"91d\"",
        "\"||ads.example^\"",
        "kind: \"allow\", name: \"allowed domains\", rules: [\"good.example\"]",
        "rules: [\"bad.example\"]",
        "\"(\\\\.|^)tracker\\\\.example$\"",
        "{ name: \"denied domains of kids\", rules: [\"video.example\"] }",
        "match: [\"aa:bb:cc:00:11:22\"]",
        "match: [\"interface:wlan0\"]",
    ] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.commented());
    }
    let tablet = "{ lists: [\"lists.example hosts.txt\", \"lists.example kids.txt\", \
         \"denied domains of kids\"], match: [\"192.168.1.50\"], name: \"Tablet\" }";
    let flat: String = made.yaml.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(tablet) || flat.contains("name: \"Tablet\""), "{}", made.yaml);
    let table = made.table();
    for due in ["it is off", "laptop.lan", "DHCP server", "a(?=b)"] {
        assert!(table.contains(due), "{due}\n{table}");
    }
}

#[test]
fn version_five_is_carried_over_from_its_files() {
    let files = [
        (
            "t/setupVars.conf",
            "PIHOLE_DNS_1=8.8.8.8\nPIHOLE_DNS_2=127.0.0.1#5335\nDNSMASQ_LISTENING=local\n\
             REV_SERVER=true\nREV_SERVER_CIDR=10.0.0.0/8\nREV_SERVER_TARGET=10.0.0.1\n\
             REV_SERVER_DOMAIN=home\nBLOCKING_ENABLED=true\nDHCP_ACTIVE=true\nWEBPASSWORD=x\n",
        ),
        ("t/pihole-FTL.conf", "PRIVACYLEVEL=3\nRATE_LIMIT=0/0\nMAXDBDAYS=365\n"),
        ("t/adlist.json", r#"[{"id":1,"address":"https://lists.example/a","enabled":1}]"#),
        ("t/blacklist.exact.json", r#"[{"id":7,"domain":"bad.example","enabled":1}]"#),
        ("t/custom.list", "192.168.1.9 nas.home\n"),
        ("t/dnsmasq.d/05-pihole-custom-cname.conf", "cname=www.home,nas.home\n"),
    ];
    let made = from_pihole(&["t".into()], &OneFolder::of(&files)).unwrap();
    for due in [
        "\"udp://8.8.8.8\"",
        "domains: [\"10.in-addr.arpa\", \"home\"]",
        "192.168.0.0/16",
        "log: \"none\"",
        "queries_per_second: 0",
        "https://lists.example/a",
        "bad.example",
        "nas.home A 192.168.1.9",
        "www.home nas.home",
    ] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.commented());
    }
    assert!(made.table().contains("there is no DHCP server"));
}

#[test]
fn what_is_not_pi_holes_is_refused() {
    let files = [("a/x.txt", "x"), ("b/pihole.toml", "[dns\n"), ("c/adlist.json", "{")];
    let refused = |name: &str| from_pihole(&[name.into()], &OneFolder::of(&files)).unwrap_err();
    assert!(refused("a")[0].message.contains("no folder, file or archive"));
    assert_eq!(refused("b")[0].place.line, 1);
    assert!(refused("c")[0].message.contains("no table"));
}

#[test]
fn domains_of_ones_own_have_room_beside_many_lists() {
    let lists: Vec<String> = (0..70)
        .map(|n| format!(r#"{{"id":{n},"address":"https://lists.example/{n}","enabled":1}}"#))
        .collect();
    let lists = format!("[{}]", lists.join(","));
    let files = [
        ("t/adlist.json", lists.as_str()),
        ("t/whitelist.exact.json", r#"[{"id":1,"domain":"good.example","enabled":1}]"#),
        ("t/blacklist.regex.json", r#"[{"id":2,"domain":"(\\.|^)bad\\.example$","enabled":1}]"#),
    ];
    let made = from_pihole(&["t".into()], &OneFolder::of(&files)).unwrap();
    for due in ["name: \"allowed domains\"", "name: \"denied expressions\""] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.yaml);
    }
    assert!(made.table().contains("48 lists have room"), "what has no room is told of");
}
