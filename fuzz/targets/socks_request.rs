//! Any first bytes of a client at a port that speaks SOCKS5 and HTTP: HTTP is handed on as it came,
//! and a request of SOCKS5 becomes one `CONNECT` with the fields that it should have and no other.
#![no_main]

use door_proxy::{SocksLogin, accept_socks};
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fuzz_target!(|data: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for login in [SocksLogin::Asked, SocksLogin::NotAsked] {
        runtime.block_on(async {
            let (ours, mut theirs) = tokio::io::duplex(data.len() + 4096);
            theirs.write_all(data).await.expect("it has room");
            theirs.shutdown().await.expect("it is open");
            let Ok(mut client) = accept_socks(ours, login).await else { return };
            let mut heard = Vec::new();
            client.read_to_end(&mut heard).await.expect("nothing fails");
            if data[0] == 5 {
                check_request(&heard, data, login);
            } else {
                assert_eq!(heard, data, "HTTP is changed");
            }
        });
    }
});

fn check_request(heard: &[u8], data: &[u8], login: SocksLogin) {
    let mut fields = [httparse::EMPTY_HEADER; 4];
    let mut request = httparse::Request::new(&mut fields);
    let head = request.parse(heard).expect("it is a request").unwrap();
    assert_eq!(request.method, Some("CONNECT"));
    let target = request.path.expect("it has a target");
    let (_, port) = target.rsplit_once(':').expect("it has a port");
    port.parse::<u16>().expect("it is a number");
    let names: Vec<_> = request.headers.iter().map(|field| field.name).collect();
    match names.as_slice() {
        ["Host"] => {}
        ["Host", "Proxy-Authorization"] => {
            assert!(login == SocksLogin::Asked || !data[2..].starts_with(&[0]));
        }
        _ => panic!("{names:?}"),
    }
    assert_eq!(request.headers[0].value, target.as_bytes());
    assert!(data.ends_with(&heard[head..]), "what follows is changed");
}
