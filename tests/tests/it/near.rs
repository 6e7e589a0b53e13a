//! Clients that are told apart by what their link says: hardware address and interface. Each is a
//! network namespace at the end of its own cable.

use std::net::Ipv4Addr;
use tidegate_tests::namespace::Namespace;
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);

/// The address of ours that a client asks, over IPv4 and IPv6.
type Ours = [&'static str; 2];
const KID: Ours = ["10.1.0.1", "fd01::1"];
const PARENT: Ours = ["10.2.0.1", "fd02::1"];
const GUEST: Ours = ["10.3.0.1", "fd03::1"];

/// What dig is told for a name: the status of the answer.
fn dig(client: &Namespace, server: &str, name: &str, more: &[&str]) -> String {
    let server = format!("@{server}");
    let mut command = client.command("dig");
    command.args([&server, name, "A", "+tries=1", "+time=5"]).args(more);
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let status = text.split("status: ").nth(1).and_then(|rest| rest.split(',').next());
    status.unwrap_or_else(|| panic!("no answer from {server}: {text}")).to_owned()
}

/// Holds when a client gets these statuses over every way that DNS takes. Who comes in while the
/// kernel was asked less than a second ago is known a moment later.
fn gets(client: &Namespace, ours: Ours, ads: &str, games: &str) {
    for server in ours {
        for way in [&[][..], &["+tcp"]] {
            wait::until(&format!("{server} {way:?} to know its client"), || {
                let told = ["ads.example", "games.example"].map(|it| dig(client, server, it, way));
                (told == [ads, games]).then_some(())
            });
        }
    }
}

/// What the proxy says to a request for a name.
fn fetch(client: &Namespace, server: &str, name: &str) -> String {
    let (proxy, url) = (format!("http://{server}:3128"), format!("http://{name}/"));
    let mut command = client.command("curl");
    command.args(["-sS", "-g", "--max-time", "20", "-x", &proxy, &url]);
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

fn bracketed(server: &str) -> String {
    if server.contains(':') { format!("[{server}]") } else { server.to_owned() }
}

#[test]
fn clients_are_known_by_hardware_address_and_by_interface() {
    let space = |name: &str| Namespace::new(name, &[], KID[0]);
    let house = space("tg-house");
    let (kid, parent, guest) = (space("tg-kid"), space("tg-parent"), space("tg-guest"));
    let lay = |device, client, mac, ours: [&str; 2], theirs: [&str; 2]| {
        house.link(device, &ours, client, mac, &theirs);
    };
    let (mac, other) = ("02:00:00:00:00:0a", "02:00:00:00:00:0b");
    lay("tg-one", &kid, mac, ["10.1.0.1/24", "fd01::1/64"], ["10.1.0.2/24", "fd01::2/64"]);
    lay("tg-two", &parent, other, ["10.2.0.1/24", "fd02::1/64"], ["10.2.0.2/24", "fd02::2/64"]);
    lay("tg-three", &guest, other, ["10.3.0.1/24", "fd03::1/64"], ["10.3.0.2/24", "fd03::2/64"]);
    house.enter();
    let upstream = "127.0.0.1:5300".parse().unwrap();
    let names = ["ads.example", "games.example"];
    let _upstream = Resolver::start_at(upstream, &names.map(|it| (it, Reply::Address(ELSEWHERE))));
    let edge = Tidegate::start(
        r#"
policy:
  lists: [{ name: ads, rules: ["||ads.example^"] }, { name: games, rules: ["||games.example^"] }]
  default: { lists: [] }
  clients:
    - { name: kid, match: ["02:00:00:00:00:0A"], lists: [games] }
    - { name: guests, match: ["interface:tg-three"], lists: [ads], blocked: refused }
dns:
  listen: ["udp://0.0.0.0:53", "tcp://0.0.0.0:53", "udp://[::]:53", "tcp://[::]:53"]
  upstreams: ["udp://127.0.0.1:5300"]
  blocked: nxdomain
proxy: { listen: ["http://0.0.0.0:3128", "http://[::]:3128"] }
"#,
    );
    gets(&kid, KID, "NOERROR", "NXDOMAIN");
    gets(&guest, GUEST, "REFUSED", "NOERROR");
    gets(&parent, PARENT, "NOERROR", "NOERROR");

    let blocks = |client, ours: Ours, name: &str| {
        ours.map(|it| fetch(client, &bracketed(it), name).contains("Tidegate blocks"))
    };
    assert_eq!(blocks(&kid, KID, "games.example"), [true; 2]);
    assert_eq!(blocks(&kid, KID, "ads.example"), [false; 2]);
    assert_eq!(blocks(&guest, GUEST, "ads.example"), [true; 2]);
    assert_eq!(blocks(&guest, GUEST, "games.example"), [false; 2]);
    assert_eq!(blocks(&parent, PARENT, "ads.example"), [false; 2]);

    let why = edge.told(&["why", "games.example", "--client", "10.1.0.2"]);
    assert!(why.contains("kid"), "{why}");
}
