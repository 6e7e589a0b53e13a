//! DNS over TLS, as clients have it: answers, certificates, and connections that behave badly.

use crate::support;

use door_dns::{Settings, StartError};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use support::{A, Bench, DEADLINE, Reply, query};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use transport::ClientTls;
use transport::tls::{Alpn, ClientTlsStream, VerifyMode};
use vocab::Scheme;

fn bench() -> Bench {
    Bench::listening(&["tls"], |settings| {
        settings.local = vec!["near.test A 192.0.2.7".into()];
        settings.names = vec!["dns.test".parse::<vocab::DomainName>().unwrap().into()];
    })
}

/// A connection of ours, which does what no program does.
struct Client {
    runtime: tokio::runtime::Runtime,
    stream: ClientTlsStream<tokio::net::TcpStream>,
    below: TcpStream,
}

impl Client {
    fn connect(bench: &Bench) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let below = TcpStream::connect(bench.address(Scheme::Tls)).unwrap();
        let socket = below.try_clone().unwrap();
        socket.set_nonblocking(true).unwrap();
        let tls = ClientTls::new().checking(VerifyMode::Nothing, &[]);
        let stream = runtime.block_on(async {
            let socket = tokio::net::TcpStream::from_std(socket).unwrap();
            tls.connect(socket, "dns.test", &[Alpn::Dot]).await.unwrap()
        });
        Self { runtime, stream, below }
    }

    fn send(&mut self, packet: &[u8]) {
        let framed = [&(packet.len() as u16).to_be_bytes()[..], packet].concat();
        self.runtime.block_on(async {
            self.stream.write_all(&framed).await.unwrap();
            self.stream.flush().await.unwrap();
        });
    }

    /// The next message; nothing where the connection has ended.
    fn receive(&mut self) -> Option<Reply> {
        let stream = &mut self.stream;
        let read = async move {
            let length = stream.read_u16().await.ok()?;
            let mut bytes = vec![0; usize::from(length)];
            stream.read_exact(&mut bytes).await.unwrap();
            Some(Reply { bytes })
        };
        self.runtime.block_on(async { tokio::time::timeout(DEADLINE, read).await.unwrap() })
    }

    fn leaf(&self) -> Vec<u8> {
        self.stream.server_certificate().unwrap().to_vec()
    }
}

#[test]
fn kdig_asks_over_tls_and_trusts_our_authority() {
    let bench = bench();
    let strict = "+tls-hostname=dns.test +short near.test A";
    let said = bench.kdig(Scheme::Tls, strict);
    assert_eq!(said.text, "192.0.2.7\n", "{said:?}");
    let said = bench.kdig(Scheme::Tls, "+tls-hostname=dns.test +keepopen near.test A www.test A");
    assert!(said.text.contains("192.0.2.7") && said.text.contains("192.0.2.1"), "{said:?}");
    let said = bench.kdig(Scheme::Tls, "+tls-hostname=other.test +short +retry=0 near.test A");
    assert_eq!(said.text, "", "{said:?}");
    assert!(bench.rows().len() >= 3);
}

#[test]
fn the_certificate_is_for_our_names_and_addresses() {
    let bench = bench();
    for words in [
        &["-verify_hostname", "dns.test", "-servername", "dns.test"][..],
        &["-verify_ip", "127.0.0.1", "-noservername"],
        &["-verify_ip", "127.0.0.1", "-tls1_2"],
    ] {
        let said = bench.s_client(Scheme::Tls, words);
        assert!(said.contains("Verify return code: 0 (ok)"), "{words:?}: {said}");
    }
    let said = bench.s_client(Scheme::Tls, &["-verify_hostname", "other.test"]);
    assert!(said.contains("hostname mismatch"), "{said}");
}

#[test]
fn alpn_is_dot_for_clients_that_know_it() {
    let bench = bench();
    let said = bench.s_client(Scheme::Tls, &["-alpn", "dot"]);
    assert!(said.contains("ALPN protocol: dot"), "{said}");
    let said = bench.s_client(Scheme::Tls, &[]);
    assert!(said.contains("No ALPN negotiated") && said.contains("return code: 0"), "{said}");
    // One that speaks another protocol is not talked to: its bytes would be taken for DNS.
    let said = bench.s_client(Scheme::Tls, &["-alpn", "http/1.1"]);
    assert!(said.contains("no application protocol"), "{said}");
}

#[test]
fn no_early_data_is_taken() {
    let bench = bench();
    let address = bench.address(Scheme::Tls).to_string();
    let words = ["s_client", "-connect", &address, "-tls1_3", "-ign_eof"];
    // What is no question has the door end the connection, after its tickets.
    let said = support::programs::run("openssl", &words, &[0, 0]).text;
    let offers: Vec<_> = said.lines().filter(|line| line.contains("Max Early Data")).collect();
    assert!(!offers.is_empty(), "{said}");
    assert!(offers.iter().all(|line| line.trim() == "Max Early Data: 0"), "{said}");
}

#[test]
fn a_quick_answer_does_not_wait_for_a_slow_one() {
    let bench = bench();
    let mut client = Client::connect(&bench);
    assert_eq!(client.stream.alpn(), Some(Alpn::Dot));
    client.send(&query(1, "held.test", A));
    client.send(&query(2, "near.test", A));
    assert_eq!(client.receive().unwrap().id(), 2);
    bench.upstream.release(1);
    assert_eq!(client.receive().unwrap().id(), 1);
}

#[test]
fn who_may_not_ask_is_told_over_tls() {
    let bench = Bench::listening(&["tls"], |settings| {
        settings.access.deny = vec!["127.0.0.0/8".parse::<vocab::Network>().unwrap().into()];
        settings.access.action = door_dns::AccessAction::Drop;
        settings.names = vec!["dns.test".parse::<vocab::DomainName>().unwrap().into()];
    });
    let mut client = Client::connect(&bench);
    for id in 0..2 {
        client.send(&query(id, "www.test", A));
        assert_eq!(client.receive().unwrap().rcode(), 5);
    }
}

#[test]
fn a_client_that_hangs_up_its_half_still_gets_its_answers() {
    let bench = bench();
    let mut client = Client::connect(&bench);
    client.send(&query(1, "held.test", A));
    client.send(&query(2, "near.test", A));
    // Without a word of TLS, as programs that are ended do.
    client.below.shutdown(Shutdown::Write).unwrap();
    bench.upstream.release(1);
    let mut ids = [client.receive().unwrap().id(), client.receive().unwrap().id()];
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
    assert_eq!(client.receive(), None);
}

#[test]
fn what_is_no_handshake_ends_at_once_or_in_its_time() {
    let bench = bench();
    let mut nonsense = TcpStream::connect(bench.address(Scheme::Tls)).unwrap();
    nonsense.set_read_timeout(Some(DEADLINE)).unwrap();
    nonsense.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut slow = TcpStream::connect(bench.address(Scheme::Tls)).unwrap();
    slow.set_read_timeout(Some(DEADLINE)).unwrap();
    slow.write_all(&[22, 3, 1]).unwrap();
    for mut stream in [nonsense, slow] {
        // An alert may come before the end.
        let ended = stream.read_to_end(&mut Vec::new());
        assert!(!matches!(ended, Err(why) if why.kind() == std::io::ErrorKind::WouldBlock));
    }
    let mut client = Client::connect(&bench);
    client.send(&query(1, "near.test", A));
    assert_eq!(client.receive().unwrap().id(), 1);
}

#[test]
fn a_renewed_certificate_is_taken_on_reload_and_nobody_is_cut_off() {
    let bench = bench();
    let files = bench.make_certificate("first.test");
    let settings = Settings { certificate: Some(files), ..bench.settings.clone() };
    let own = Client::connect(&bench).leaf();
    bench.door.reload(&settings, &[], &bench.cores, &[]).unwrap();
    let mut before = Client::connect(&bench);
    let address = bench.address(Scheme::Tls);
    // The same files with new content, as tools for renewal leave them.
    bench.make_certificate("second.test");
    for ending in ["pem", "key"] {
        let path = |name: &str| bench.folder.join(format!("{name}.{ending}"));
        std::fs::rename(path("second.test"), path("first.test")).unwrap();
    }
    bench.door.reload(&settings, &[], &bench.cores, &[]).unwrap();
    let after = Client::connect(&bench);
    assert_ne!(own, before.leaf());
    assert_ne!(before.leaf(), after.leaf());
    assert!(after.leaf().windows(11).any(|part| part == b"second.test"));
    assert_eq!(bench.address(Scheme::Tls), address);
    before.send(&query(9, "near.test", A));
    assert_eq!(before.receive().unwrap().id(), 9);
}

#[test]
fn files_that_are_no_certificate_are_named_and_change_nothing() {
    let bench = bench();
    let own = Client::connect(&bench).leaf();
    let good = bench.make_certificate("good.test");
    std::fs::write(bench.folder.join("bad.pem"), "nonsense").unwrap();
    for (cert, key, named) in [
        ("bad.pem", good.key.to_str().unwrap(), "bad.pem"),
        ("missing.pem", good.key.to_str().unwrap(), "missing.pem"),
        (good.cert.to_str().unwrap(), "ca/ca.key", "ca.key"),
    ] {
        let files = door_dns::CertificateSettings { cert: cert.into(), key: key.into() };
        let settings = Settings { certificate: Some(files), ..bench.settings.clone() };
        let refused = bench.door.reload(&settings, &[], &bench.cores, &[]).unwrap_err();
        assert!(matches!(refused, StartError::Certificate(_)), "{refused}");
        assert!(refused.to_string().contains(named), "{refused}");
    }
    assert_eq!(Client::connect(&bench).leaf(), own);
}
