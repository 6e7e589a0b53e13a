//! Files as dnsmasq's users write them, and what they become.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
use super::*;
use crate::testing::OneFolder;
use import_report::ImportFate;

fn imported(files: &[(&str, &str)]) -> ImportedConfig {
    from_dnsmasq(&[files[0].0.into()], &OneFolder::of(files)).unwrap()
}

#[test]
fn servers_names_and_blocks_are_carried_over() {
    let made = imported(&[
        (
            "/etc/dnsmasq.conf",
            "# a remark\nport=5353\nlisten-address=127.0.0.1,192.168.1.1 # both\nno-resolv\n\
             server=9.9.9.9\nserver=/corp.example/10.0.0.53#5300@eth1\nserver=/lan/\n\
             rev-server=10.1.0.0/16,10.0.0.53\naddress=/ads.example/0.0.0.0\n\
             address=/nas.example/192.168.1.9\nhost-record=router.lan,router,192.168.1.1,fd00::1,300\n\
             cname=www.lan,*.dev.lan,router.lan\ntxt-record=lan,\"v=1\"\nmx-host=lan,mail.lan,50\n\
             srv-host=_ldap._tcp.lan,ldap.lan,389\ndomain=lan\nexpand-hosts\n\
             addn-hosts=/etc/more\ncache-size=1000\nmin-cache-ttl=60\nfilter-AAAA\nstrict-order\n\
             stop-dns-rebind\nrebind-domain-ok=/corp.example/\nconf-dir=/etc/dnsmasq.d,*.conf\n",
        ),
        ("/etc/more", "192.168.1.20 printer\n0.0.0.0 spy.example\n127.0.0.1 localhost\n"),
        ("/etc/dnsmasq.d/a.conf", "address=/more.example/#\n"),
        ("/etc/dnsmasq.d/b.bak", "address=/not.example/#\n"),
    ]);
    for due in [
        "udp://127.0.0.1:5353",
        "tcp://192.168.1.1:5353",
        "\"udp://9.9.9.9\"",
        "{ address: \"udp://10.0.0.53:5300\", domains: [\"corp.example\"], interface: \"eth1\" }",
        "domains: [\"1.10.in-addr.arpa\"]",
        "||lan^$dnsrewrite=NXDOMAIN",
        "||ads.example^",
        "||nas.example^ A 192.168.1.9",
        "router.lan AAAA fd00::1",
        "www.lan router.lan",
        "||dev.lan^ router.lan",
        "lan MX 50 mail.lan.",
        "_ldap._tcp.lan SRV 0 0 389 ldap.lan.",
        "printer.lan A 192.168.1.20",
        "spy.example",
        "||more.example^",
        "min_ttl: \"1m\"",
        "allow: [\"corp.example\"]",
    ] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.commented());
    }
    assert!(!made.yaml.contains("not.example") && !made.yaml.contains("localhost"));
}

#[test]
fn what_dnsmasq_does_beside_dns_is_told_of() {
    let made = imported(&[(
        "dnsmasq.conf",
        "dhcp-range=192.168.1.50,192.168.1.150,12h\nipset=/video.example/vpn\n\
         bogus-nxdomain=64.94.110.11\naddress=/#/1.2.3.4\nserver=dns.example\ninterface=br0\n\
         unheard-of=1\naddress=1\nconf-file=/none\n",
    )]);
    let left: Vec<usize> = made
        .report
        .notes()
        .iter()
        .filter(|it| it.fate == ImportFate::LeftOut)
        .map(|it| it.place.line)
        .collect();
    assert_eq!(left, [1, 2, 3, 4, 5, 7, 8, 9], "{}", made.table());
    assert!(made.yaml.contains("192.168.0.0/16"), "who may ask is no wider: {}", made.yaml);
}

#[test]
fn a_long_list_of_blocks_stays_a_file() {
    let mut text: String =
        (0..600).flat_map(|n| [format!("address=/n{n}.example/0.0.0.0"), "\n".into()]).collect();
    text.push_str("server=1.1.1.1\n");
    let made = imported(&[("/etc/blocks.conf", &text)]);
    assert!(made.yaml.contains("path: \"/etc/blocks.conf\""), "{}", made.yaml);
    assert!(!made.yaml.contains("n1.example") && made.yaml.contains("udp://1.1.1.1"));
}

#[test]
fn files_that_include_one_another_end() {
    let made = imported(&[("a.conf", "conf-file=a.conf\n")]);
    assert!(made.table().contains("too many files are included"));
}
