//! Any bytes as the start of a TLS connection to the signer: a handshake that fails with a reason,
//! never a leaf for a name that the policy does not block.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use signer::{MintPolicy, Signer};
use transport::{ServerTls, Stream};

struct OnlyAds;

impl MintPolicy for OnlyAds {
    fn may_mint(&self, name: &str) -> bool {
        name == "ads.example"
    }
}

static TLS: LazyLock<ServerTls> = LazyLock::new(|| {
    let dir = std::env::temp_dir().join(format!("tidegate-fuzz-ca-{}", std::process::id()));
    let signer = Signer::open(&dir, Arc::new(OnlyAds), transport::clock::now()).expect("a writable temporary folder");
    ServerTls::with_signer(Arc::new(signer))
});
static LISTENER: LazyLock<TcpListener> =
    LazyLock::new(|| TcpListener::bind("127.0.0.1:0").expect("loopback"));

thread_local! {
    static RUNTIME: LocalRuntime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .expect("a runtime");
}

fuzz_target!(|data: &[u8]| {
    let address = LISTENER.local_addr().expect("bound");
    let mut client = TcpStream::connect(address).expect("loopback");
    let (server, _) = LISTENER.accept().expect("connected above");
    let _ = client.write_all(data);
    let _ = client.shutdown(std::net::Shutdown::Write);
    RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let stream = Stream::from_std(server).expect("an Internet socket");
            if let Ok(done) = TLS.accept(stream, Duration::from_secs(5)).await {
                assert_eq!(done.sni(), Some("ads.example"));
            }
        });
    });
});
