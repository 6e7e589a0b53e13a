//! A server of HTTP/1.1 that writes what the test says, and notes what it reads.

use super::support::{DEADLINE, Serving, start};
use std::cell::RefCell;
use std::future::pending;
use std::rc::Rc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use transport::proxy_protocol::{ProxyHeader, ProxyIntroduction, parse};

/// What it does with a request.
pub(crate) enum Reply {
    /// Writes this and goes on.
    Keep(String),
    /// Writes this and closes.
    Close(String),
    /// Writes this, and then nothing more.
    Stall(String),
}

/// A head that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The number of its connection, from 0.
    pub(crate) connection: usize,
    /// The number of the request on it, from 0.
    pub(crate) nth: usize,
    /// What the PROXY header of the connection said, if it began with one.
    pub(crate) introduced: Option<ProxyIntroduction>,
    pub(crate) head: String,
}

pub(crate) type Log = Rc<RefCell<Vec<Seen>>>;

/// A plain answer with its length.
pub(crate) fn ok(body: &str) -> Reply {
    Reply::Keep(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

pub(crate) async fn raw(script: impl Fn(&Seen) -> Reply + 'static) -> (Serving, Log) {
    let (log, script) = (Log::default(), Rc::new(script));
    let (noted, count) = (Rc::clone(&log), Rc::new(std::cell::Cell::new(0)));
    let serving = start(move |stream| {
        let (log, script) = (Rc::clone(&noted), Rc::clone(&script));
        let connection = count.replace(count.get() + 1);
        async move { talk(stream, connection, &*script, &log).await }
    });
    (serving.await, log)
}

/// Answers the requests that come over `stream`.
pub(crate) async fn talk(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    connection: usize,
    script: &dyn Fn(&Seen) -> Reply,
    log: &Log,
) {
    let (mut bytes, mut introduced) = (Vec::new(), None);
    for nth in 0.. {
        loop {
            if nth == 0
                && introduced.is_none()
                && let Ok(ProxyHeader::Complete(who, length)) = parse(&bytes)
            {
                introduced = Some(who);
                bytes.drain(..length);
            }
            let is_introducing =
                introduced.is_none() && matches!(parse(&bytes), Ok(ProxyHeader::Incomplete));
            let end = bytes.windows(4).position(|it| it == b"\r\n\r\n");
            if let Some(end) = end.filter(|_| !is_introducing || bytes.len() > 600) {
                let head = String::from_utf8(bytes.drain(..end + 4).collect()).unwrap();
                let seen = Seen { connection, nth, introduced, head };
                log.borrow_mut().push(seen.clone());
                match script(&seen) {
                    Reply::Keep(text) => stream.write_all(text.as_bytes()).await.unwrap(),
                    Reply::Close(text) => {
                        let _ = stream.write_all(text.as_bytes()).await;
                        return;
                    }
                    Reply::Stall(text) => {
                        stream.write_all(text.as_bytes()).await.unwrap();
                        return tokio::time::timeout(DEADLINE, pending()).await.unwrap_or(());
                    }
                }
                break;
            }
            let mut piece = [0; 4096];
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(count) => bytes.extend_from_slice(&piece[..count]),
            }
        }
    }
}
