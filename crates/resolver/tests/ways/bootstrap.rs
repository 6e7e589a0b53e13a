//! Upstreams by name: how their addresses are found, and which of them are taken.

use super::certificate::Certificate;
use super::messages::{answer, answer_to_another};
use super::stream_server::{Asked, Step, StreamServer};
use super::{ADDRESS, addresses, ask, at, error, settings};
use dns_wire::{DnsQuery, record_type, synthesize};
use resolver::{FamilyChoice, ResolveError, Resolver, UpstreamDetails};
use settings::Text;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use tokio::net::UdpSocket;
use vocab::NameBuffer;

/// A plain server that says where `dns.test` is: at 127.0.0.1 and `::1`.
struct Plain {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Plain {
    /// `forge` makes what is sent of a query and of its true answer.
    async fn start(forge: impl Fn(usize, &[u8], Vec<u8>) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (address, asked) = (socket.local_addr().unwrap(), Arc::default());
        let notes: Arc<Mutex<Vec<SocketAddr>>> = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut packet = [0; 4096];
            loop {
                let (length, from) = socket.recv_from(&mut packet).await.unwrap();
                let query = &packet[..length];
                let nth = {
                    let mut notes = notes.lock().unwrap();
                    notes.push(from);
                    notes.len()
                };
                for message in forge(nth, query, local(query)) {
                    socket.send_to(&message, from).await.unwrap();
                }
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<SocketAddr> {
        self.asked.lock().unwrap().clone()
    }
}

/// The answer for `dns.test`, A or AAAA.
fn local(query: &[u8]) -> Vec<u8> {
    let (mut out, mut text) = (Vec::new(), NameBuffer::new());
    let query = DnsQuery::parse(query, &mut text).unwrap();
    let ip = match query.qtype {
        record_type::A => IpAddr::V4(Ipv4Addr::LOCALHOST),
        _ => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    synthesize::addresses(&query, &[ip], 300, None, &mut out);
    out
}

/// The server that is asked then, over TLS on 127.0.0.1 only.
async fn server(certificate: &Certificate) -> StreamServer {
    let behave = |it: &Asked| vec![Step::Send(answer(&it.message))];
    StreamServer::start(Some(certificate.server()), behave).await
}

fn resolver(
    server: &StreamServer,
    family: FamilyChoice,
    plain: &Plain,
    certificate: &Certificate,
) -> Resolver {
    let address = format!("tls://dns.test:{}", server.address.port());
    let details = UpstreamDetails { family, ..at(address) };
    Resolver::start(&settings(details, Some(plain.address)), certificate.trusted()).unwrap()
}

#[tokio::test]
async fn only_addresses_of_the_family_are_taken() {
    let certificate = Certificate::new();
    let (server, plain) = (server(&certificate).await, Plain::start(|_, _, it| vec![it]).await);
    for (family, reached) in
        [(FamilyChoice::Any, true), (FamilyChoice::Ipv4, true), (FamilyChoice::Ipv6, false)]
    {
        let resolver = resolver(&server, family, &plain, &certificate);
        let found = ask(&resolver, "a.example").await;
        if reached {
            assert_eq!(addresses(&found), [ADDRESS], "{family:?}");
        } else {
            assert_eq!(error(&found), ResolveError::Unreachable, "{family:?}");
        }
    }
}

#[tokio::test]
async fn an_upstream_is_reached_at_the_name_that_is_set_and_proves_its_own() {
    let certificate = Certificate::new();
    let (server, plain) = (server(&certificate).await, Plain::start(|_, _, it| vec![it]).await);
    for (own, reached) in [("dns.test", true), ("other.test", false)] {
        let details = UpstreamDetails {
            dial: Some(Text("elsewhere.test".parse().unwrap())),
            family: FamilyChoice::Ipv4,
            ..at(format!("tls://{own}:{}", server.address.port()))
        };
        let settings = settings(details, Some(plain.address));
        let resolver = Resolver::start(&settings, certificate.trusted()).unwrap();
        let found = ask(&resolver, "a.example").await;
        if reached {
            assert_eq!(addresses(&found), [ADDRESS]);
        } else {
            assert_eq!(error(&found), ResolveError::Tls, "its certificate is another's");
        }
    }
    assert!(!plain.asked().is_empty());
}

#[tokio::test]
async fn a_bootstrap_server_is_asked_from_a_new_port_each_time_and_again_if_it_is_silent() {
    let certificate = Certificate::new();
    let server = server(&certificate).await;
    let plain = Plain::start(|nth, _, it| if nth <= 2 { vec![] } else { vec![it] }).await;
    let resolver = resolver(&server, FamilyChoice::Any, &plain, &certificate);
    assert_eq!(addresses(&ask(&resolver, "a.example").await), [ADDRESS]);
    assert_eq!(addresses(&ask(&resolver, "b.example").await), [ADDRESS]);
    let asked = plain.asked();
    assert_eq!(asked.len(), 4, "A and AAAA, each twice, and then it is known: {asked:?}");
    assert_ne!(asked[0], asked[1]);
}

#[tokio::test]
async fn lies_of_others_about_an_upstreams_address_are_not_believed() {
    let certificate = Certificate::new();
    let server = server(&certificate).await;
    let plain = Plain::start(|_, query, it| {
        let mut other_number = it.clone();
        other_number[1] ^= 1;
        // Right in form, and an address where nobody is.
        let last = other_number.len() - 1;
        other_number[last] = 99;
        vec![other_number, answer_to_another(query), vec![0; 3], it]
    })
    .await;
    let resolver = resolver(&server, FamilyChoice::Ipv4, &plain, &certificate);
    assert_eq!(addresses(&ask(&resolver, "a.example").await), [ADDRESS]);
}
