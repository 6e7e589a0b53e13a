//! Files as Unbound's users write them, and what they become.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
use super::*;
use crate::testing::OneFolder;

const MAIN: &str = "# Unbound
server:
    verbosity: 1
    interface: 0.0.0.0
    interface: ::0@853
    port: 5335
    tls-service-key: \"/etc/unbound/key.pem\"
    tls-service-pem: \"/etc/unbound/cert.pem\"
    access-control: 127.0.0.0/8 allow
    access-control: 192.168.0.0/16 allow
    access-control: 192.168.66.0/24 refuse
    access-control: 0.0.0.0/0 refuse
    auto-trust-anchor-file: \"/var/lib/unbound/root.key\"
    rrset-cache-size: 100m
    cache-min-ttl: 60
    serve-expired: yes
    serve-expired-client-timeout: 0
    private-address: 192.168.0.0/16
    private-domain: \"home.example\"
    local-zone: \"home.example.\" static
    local-data: \"nas.home.example. 3600 IN A 192.168.1.9\"
    local-data-ptr: \"192.168.1.8 printer.home.example\"
    local-zone: \"ads.example\" always_nxdomain
    local-zone: \"spy.example\" redirect
    local-data: \"spy.example A 0.0.0.0\"
    local-zone: \"dev.example\" redirect
    local-data: \"dev.example A 10.0.0.5\"
    include: \"/etc/unbound/conf.d/*.conf\"
remote-control:
    control-enable: yes
";

#[test]
fn what_it_forwards_answers_and_lets_in_is_carried_over() {
    let forward = "forward-zone:\n  name: \".\"\n  forward-tls-upstream: yes\n  \
         forward-addr: 1.1.1.1@853#cloudflare-dns.com\n  forward-addr: 9.9.9.9@8853\n\
         forward-zone:\n  name: corp.example\n  forward-addr: 10.0.0.53\n\
         stub-zone:\n  name: lab.example\n  stub-addr: 10.1.0.53@5300\n\
         rpz:\n  name: rpz.example\n  zonefile: /etc/unbound/rpz.zone\n";
    let files = [("/u.conf", MAIN), ("/etc/unbound/conf.d/forward.conf", forward)];
    let made = from_unbound(&["/u.conf".into()], &OneFolder::of(&files)).unwrap();
    for due in [
        "udp://0.0.0.0:5335",
        "tls://[::]:853",
        "{ cert: \"/etc/unbound/cert.pem\", key: \"/etc/unbound/key.pem\" }",
        "{ address: \"tls://cloudflare-dns.com\", dial: \"1.1.1.1\" }",
        "tls://9.9.9.9:8853",
        "{ address: \"udp://10.0.0.53\", domains: [\"corp.example\"] }",
        "udp://10.1.0.53:5300",
        "allow: [\"127.0.0.0/8\", \"192.168.0.0/16\", \"::1/128\"], deny: [\"192.168.66.0/24\"]",
        "size: \"102400KiB\"",
        "stale_mode: \"at-once\"",
        "nas.home.example A 192.168.1.9",
        "printer.home.example A 192.168.1.8",
        "||home.example^$dnsrewrite=NXDOMAIN",
        "\"||ads.example^\"",
        "\"||spy.example^\"",
        "||dev.example^ A 10.0.0.5",
        "{ name: \"rpz.example\", path: \"/etc/unbound/rpz.zone\" }",
        "rebinding: { allow: [\"home.example\"] }",
    ] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.commented());
    }
    let table = made.table();
    for due in ["signatures are not checked here", "tidegate ctl", "asked as a resolver is"] {
        assert!(table.contains(due), "{due}\n{table}");
    }
}

#[test]
fn nobody_but_this_machine_may_ask_where_nobody_was_named() {
    let files = [("u.conf", "server:\n  interface: 0.0.0.0\n")];
    let made = from_unbound(&["u.conf".into()], &OneFolder::of(&files)).unwrap();
    assert!(made.yaml.contains("allow: [\"127.0.0.0/8\", \"::1/128\"]"), "{}", made.yaml);
    assert!(made.table().contains("from the root on"));
}
