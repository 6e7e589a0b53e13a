//! The smallest server: a fixed answer of 102 bytes by the fast path, `/handler` by the handler.
//!
//! A request for `/handler` that is not simple, as one with `Expect`, takes its connection to
//! hyper. For measuring the engine alone and for conformance tools, on loopback only: `cargo run
//! --release -p http-engine --example fast_path -- 8080`. It takes a port, and serves HTTP/1 and,
//! by prior knowledge, HTTP/2 on one thread.

use http_engine::fast_path::{FastPath, FastReply, SimpleMethod, SimpleRequest};
use http_engine::{HttpVersions, Limits, reply, serve_with_fast_path};
use std::error::Error;
use std::future::pending;
use tokio::net::TcpListener;
use tokio::task::LocalSet;

const BODY: [u8; 102] = [b'x'; 102];

struct Fixed;

impl FastPath for Fixed {
    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
        if request.path() == "/handler" {
            return FastReply::Decline;
        }
        out.extend_from_slice(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 102\r\n",
        );
        request.end_head(out);
        if request.method() == SimpleMethod::Get {
            out.extend_from_slice(&BODY);
        }
        FastReply::Done
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::args().nth(1).unwrap_or_default().parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            let handler =
                |_| async { reply::text(http::StatusCode::OK, String::from_utf8_lossy(&BODY)) };
            let (versions, limits) = (HttpVersions::Http1And2, Limits::default());
            let serving = serve_with_fast_path(stream, versions, limits, pending(), Fixed, handler);
            tokio::task::spawn_local(async move { drop(serving.await) });
        }
    })
}
