//! Files as Privoxy's users write them, and what they become.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
use super::*;
use crate::testing::OneFolder;

const CONFIG: &str = "# Privoxy
confdir /etc/privoxy
actionsfile user.action
filterfile default.filter
listen-address 192.168.1.2:8118
listen-address [::1]:8118
permit-access 192.168.0.0/16
deny-access 192.168.66.0/24
forward-socks5t / 127.0.0.1:9050 .
forward 192.168.*.*/ .
forward .corp.example parent.example:3128
forward .lan .
max-client-connections 256
toggle 1
";

const ACTIONS: &str = "{{alias}}
+block-ads = +block{Ads.} +handle-as-image
shop = -block -filter{ads}
{{settings}}
for-privoxy-version=3.0.11
{ +block-ads }
.ads.example
banner.example/
/(.*/)?adserver/
TAG:^ad
{ shop }
.good.ads.example
{ +filter{ads} +crunch-cookies }
/
";

#[test]
fn listeners_ways_and_blocks_are_carried_over() {
    let files = [("/p/config", CONFIG), ("/etc/privoxy/user.action", ACTIONS)];
    let made = from_privoxy(&["/p/config".into()], &OneFolder::of(&files)).unwrap();
    for due in [
        "http://192.168.1.2:8118",
        "http://[::1]:8118",
        "clients: [\"192.168.0.0/16\"]",
        "otherwise: \"block\"",
        "parent: \"socks5://127.0.0.1:9050\"",
        "{ domains: [\"lan\"], parent: \"direct\" }",
        "{ domains: [\"corp.example\"], parent: \"http://parent.example:3128\" }",
        "{ domains: [\"192.168.0.0/16\"], parent: \"direct\" }",
        "connections: 256",
        "\"||ads.example^\"",
        "\"banner.example\"",
        "adserver",
        "kind: \"allow\", name: \"blocks of user.action, exceptions\", rules: [\"||good.ads.example^\"]",
    ] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.commented());
    }
    let table = made.table();
    for due in ["default.filter", "toggle 1", "TAG:^ad", "+crunch-cookies"] {
        assert!(table.contains(due), "{due}\n{table}");
    }
}
