//! Files as Squid's users write them, and what they become.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
use super::*;
use crate::testing::OneFolder;
use import_report::ImportFate;

const SAMPLE: &str = "# Squid
acl localnet src 192.168.0.0/16
acl localnet src 10.0.0.1-10.0.0.4 \\
    fc00::/7
acl kids src 192.168.1.64/26
acl SSL_ports port 443 563
acl Safe_ports port 80 443 1025-65535
acl CONNECT method CONNECT
acl bad dstdomain .ads.example tracker.example
acl more dstdomain \"/etc/squid/blocked\"
acl words url_regex -i ^https?://ads\\. sex
acl video dstdomain .video.example
acl work time MTWHF 08:00-17:00
acl guests src 192.168.66.0/24
http_access deny !Safe_ports
http_access deny CONNECT !SSL_ports
http_access allow localhost manager
http_access deny manager
http_access deny guests
http_access deny bad
http_access deny more
http_access deny words
http_access deny kids video
http_access deny video work
http_access allow localnet
http_access allow localhost
http_access deny all
http_port 192.168.1.2:3128
http_port 3129 intercept
https_port 3130 cert=/etc/squid/c.pem key=/etc/squid/k.pem
http_port 80 accel vhost
cache_mem 64 MB
cache_dir ufs /var/spool/squid 1000 16 256
refresh_pattern -i \\.iso$ 1440 20% 10080
refresh_pattern ^ftp: 1440 20% 10080
refresh_pattern . 0 20% 4320
cache deny video
cache_peer parent.example parent 8080 0 no-query default login=ann:pa:ss
cache_peer tor.example parent 8118 0 name=tor
acl onion dstdomain .onion
cache_peer_access tor allow onion
cache_peer_access tor deny all
acl local dstdomain .lan
always_direct allow local
never_direct allow all
delay_pools 1
delay_class 1 2
delay_parameters 1 1000000/2000000 64000/128000
delay_access 1 allow kids
forwarded_for delete
via off
request_header_access From deny all
tcp_outgoing_address 192.0.2.9
url_rewrite_program /usr/bin/squidGuard -c /etc/squidguard.conf
url_rewrite_children 5 startup=1
icap_enable on
visible_hostname proxy
unheard_of 1
";

fn imported(text: &str) -> ImportedConfig {
    let files =
        [("squid.conf", text), ("/etc/squid/blocked", "# list\n.one.example\ntwo.example\n")];
    from_squid(&["squid.conf".into()], &OneFolder::of(&files)).unwrap()
}

#[test]
fn ports_clients_rules_and_parents_are_carried_over() {
    let made = imported(SAMPLE);
    for due in [
        "http://192.168.1.2:3128",
        "redirect://0.0.0.0:3129",
        "https://0.0.0.0:3130",
        "tls: { certificate: \"/etc/squid/c.pem\", key: \"/etc/squid/k.pem\" }",
        "connect_ports: [443, 563]",
        "fetch_ports: [80, 443, \"1025-65535\"]",
        "\"192.168.0.0/16\"",
        "\"10.0.0.2/31\"",
        "{ name: \"bad\", rules: [\"||ads.example^\", \"tracker.example\"] }",
        "{ name: \"more\", rules: [\"||one.example^\", \"two.example\"] }",
        "# syntax: url_regex",
        "||video.example^$client=192.168.1.64/26",
        "otherwise: \"block\"",
        "memory: \"65536KiB\"",
        "{ path: \"/var/spool/squid-tidegate\", size: \"1000MiB\" }",
        "urls: [\"/\\\\.iso$/\"]",
        "never: [\"||video.example^\"]",
        "parent: [\"http://ann:pa%3Ass@parent.example:8080\"]",
        "{ domains: [\"lan\"], parent: \"direct\" }",
        "{ domains: [\"onion\"], parent: \"http://tor.example:8118\" }",
        "rate: 1000000, rate_per_client: 64000",
        "via: \"off\"",
        "censor: [\"From\"]",
        "source: [\"192.0.2.9\"]",
        "processes: 5, program: [\"/usr/bin/squidGuard\", \"-c\", \"/etc/squidguard.conf\"]",
    ] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.commented());
    }
    assert!(!made.yaml.contains("default: { otherwise"), "{}", made.yaml);
    let left: Vec<String> = made
        .report
        .notes()
        .iter()
        .filter(|it| it.fate == ImportFate::LeftOut)
        .map(ToString::to_string)
        .collect();
    for due in ["acl work time", "accel", "^ftp:", "icap_enable", "unheard_of"] {
        assert!(left.iter().any(|it| it.contains(due)), "{due}\n{left:#?}");
    }
}

#[test]
fn only_what_is_named_may_be_fetched_where_nothing_else_was() {
    let made = imported(
        "acl good dstdomain .good.example\nacl lan src 10.0.0.0/8\n\
         http_access allow lan good\nhttp_access deny all\n",
    );
    for due in ["clients: [\"10.0.0.0/8\"]", "@@||good.example^$client=10.0.0.0/8"] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.commented());
    }
    assert!(made.yaml.contains("default: { otherwise: \"block\" }"), "{}", made.yaml);
}

#[test]
fn what_a_line_leaves_out_is_blocked_for_its_clients() {
    let made = imported(
        "acl bad dstdomain .bad.example\nacl lan src 10.0.0.0/8\n\
         http_access allow lan !bad\nhttp_access deny all\n",
    );
    for due in ["clients: [\"10.0.0.0/8\"]", "\"||bad.example^$client=10.0.0.0/8\""] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.commented());
    }
}

#[test]
fn nobody_is_let_in_by_a_line_that_cannot_be_said() {
    for text in [
        "",
        "acl a external group\nhttp_access allow a\n",
        "acl a src host.example\nhttp_access allow a\n",
        "acl t time 08:00-12:00\nacl lan src 10.0.0.0/8\nhttp_access allow lan t\n",
        "acl u proxy_auth REQUIRED\nauth_param ntlm program /x\nhttp_access allow u\n",
    ] {
        let made = imported(text);
        let local = "clients: [\"127.0.0.0/8\", \"::1/128\"]";
        assert!(made.yaml.contains(local), "{text}\n{}", made.commented());
    }
}

#[test]
fn passwords_of_a_file_are_asked_for() {
    let made = imported(
        "auth_param basic program /usr/lib/squid/basic_ncsa_auth /etc/squid/passwd\n\
         auth_param basic realm Our proxy\nacl users proxy_auth REQUIRED\n\
         http_access allow users\nhttp_access deny all\n",
    );
    let due = "auth: { file: \"/etc/squid/passwd\", realm: \"Our proxy\" }";
    assert!(made.yaml.contains(due), "{}", made.commented());
}
