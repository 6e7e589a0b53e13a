//! Any bytes on an HTTP connection: answered or refused, never a request that two servers could
//! read differently, never a hang.
#![no_main]

use http::{Response, header};
use http_engine::first_head::{self, FirstHead};
use http_engine::refuse::is_host;
use http_engine::{Body, HttpVersions, Limits, serve};
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, LocalOptions};

fuzz_target!(|data: &[u8]| {
    if let FirstHead::For(host) = first_head::read(data) {
        assert!(is_host(host.as_bytes()), "no host was looked for");
    }
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .expect("a runtime");
    runtime.block_on(async {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        let handler = |request: http::Request<http_engine::Incoming>| {
            let headers = request.headers();
            let framed = headers.get_all(header::CONTENT_LENGTH).iter().count();
            let chunked = headers.contains_key(header::TRANSFER_ENCODING);
            assert!(framed + usize::from(chunked) <= 1, "two framings got through");
            async move { Response::new(Body::full("fine")) }
        };
        let served = serve(
            server,
            HttpVersions::Http1And2,
            Limits::default(),
            std::future::pending(),
            handler,
        );
        let bytes = data.to_vec();
        let talk = async move {
            let _ = client.write_all(&bytes).await;
            let _ = client.shutdown().await;
            let mut answer = Vec::new();
            let _ = client.read_to_end(&mut answer).await;
        };
        let _ = tokio::join!(served, talk);
    });
});
