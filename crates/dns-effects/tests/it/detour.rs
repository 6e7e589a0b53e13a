//! Requests of effects that leave through a proxy, or to a server whose certificate nobody vouches
//! for.

use crate::support::{Web, emit, respond, start, wait_until};
use dns_effects::{EffectSpec, HttpSpec};
use rcgen::{CertificateParams, KeyPair};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use transport::ServerTls;
use transport::tls::{Alpn, ServerIdentity};

/// A SOCKS5 proxy that takes everybody to `to`, and keeps what it was asked for.
fn proxy(to: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || serve(client, to, &kept));
        }
    });
    (address, asked)
}

fn serve(mut client: TcpStream, to: SocketAddr, kept: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut greeting = [0; 3];
    client.read_exact(&mut greeting)?;
    assert_eq!(greeting, [5, 1, 0]);
    client.write_all(&[5, 0])?;
    let mut head = [0; 5];
    client.read_exact(&mut head)?;
    assert_eq!(head[..4], [5, 1, 0, 3], "a name goes as a name");
    let mut name = vec![0; usize::from(head[4])];
    client.read_exact(&mut name)?;
    let mut port = [0; 2];
    client.read_exact(&mut port)?;
    kept.lock().unwrap().push(format!(
        "{}:{}",
        String::from_utf8(name).unwrap(),
        u16::from_be_bytes(port)
    ));
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
    let mut server = TcpStream::connect(to)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
    std::io::copy(&mut server, &mut client).map(drop)
}

#[test]
fn a_hook_goes_through_its_proxy_and_others_do_not() {
    let web = Web::start(|_, stream| respond(stream, "204 No Content", "", b""));
    let (proxy, asked) = proxy(web.address);
    let hook = |url: String, socks5| {
        EffectSpec::HttpRequest(HttpSpec {
            method: "GET".into(),
            url,
            socks5,
            ..HttpSpec::default()
        })
    };
    // The name exists nowhere: only the proxy knows what to do with it.
    let through = hook("http://hook.test:8080/a".into(), Some(proxy.to_string()));
    let (effects, told) = start(vec![through, hook(web.url("/b"), None)], vec![]);
    for effect in 0..2 {
        emit(&effects, effect, "a.example", &[]);
    }
    wait_until("both are done", || effects.stats().iter().all(|it| it.done == 1));
    assert_eq!(*asked.lock().unwrap(), ["hook.test:8080"]);
    let mut lines: Vec<_> = web.asked().into_iter().map(|it| it.line).collect();
    lines.sort();
    assert_eq!(lines, ["GET /a HTTP/1.1", "GET /b HTTP/1.1"]);
    assert_eq!(told.lines(), Vec::<String>::new());
}

/// A server whose certificate it has signed itself.
fn self_signed() -> SocketAddr {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let pem = certificate.self_signed(&key).unwrap().pem();
    let identity =
        ServerIdentity::from_pem(pem.as_bytes(), key.serialize_pem().as_bytes()).unwrap();
    let tls = ServerTls::with_identity(&identity, &[Alpn::Http1]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let tls = tls.clone();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let stream = transport::Stream::from_std(client).unwrap();
                let shaken = tls.accept(stream, crate::support::DEADLINE).await;
                let Ok(mut stream) = shaken else { return };
                // The request is of no interest, but must be read.
                let _ = stream.read(&mut [0; 4096]).await;
                let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
                stream.write_all(answer).await.unwrap();
                // Whoever has read it may be gone.
                let _ = stream.shutdown().await;
            });
        }
    });
    address
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_taken_where_that_is_said() {
    let url = format!("https://{}/", self_signed());
    let hook = |insecure_skip_verify| {
        EffectSpec::HttpRequest(HttpSpec {
            method: "GET".into(),
            url: url.clone(),
            insecure_skip_verify,
            ..HttpSpec::default()
        })
    };
    let (effects, _told) = start(vec![hook(false), hook(true)], vec![]);
    for effect in 0..2 {
        emit(&effects, effect, "a.example", &[]);
    }
    wait_until("one fails and one does not", || {
        let stats = effects.stats();
        stats[0].failed == 1 && stats[1].done == 1
    });
}
