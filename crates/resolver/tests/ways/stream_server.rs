//! A DNS server over TCP or TLS that does with each question what the test says.

use super::DEADLINE;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use transport::{ServerTls, Stream};

/// What it does next on the connection.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Sends this message with its length before it.
    Send(Vec<u8>),
    /// Sends these bytes as they are.
    Raw(Vec<u8>),
    Close,
}

/// One question: on which connection, as which one there, and the message.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) connection: usize,
    pub(crate) nth: usize,
    pub(crate) message: Vec<u8>,
}

#[derive(Default)]
struct Log {
    asked: Vec<Asked>,
    opened: usize,
    closed: usize,
}

pub(crate) struct StreamServer {
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<Log>>,
}

type Behave = Arc<dyn Fn(&Asked) -> Vec<Step> + Send + Sync>;

impl StreamServer {
    pub(crate) async fn start(
        tls: Option<ServerTls>,
        behave: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), tls, behave).await
    }

    pub(crate) async fn start_at(
        address: SocketAddr,
        tls: Option<ServerTls>,
        behave: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Log::default()));
        let (behave, kept): (Behave, _) = (Arc::new(behave), Arc::clone(&log));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (log, behave, tls) = (Arc::clone(&log), Arc::clone(&behave), tls.clone());
                tokio::spawn(async move {
                    let stream = Stream::from_std(stream.into_std().unwrap()).unwrap();
                    match tls {
                        None => serve(stream, &log, &behave).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream, DEADLINE).await {
                                serve(stream, &log, &behave).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, log: kept }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.log.lock().unwrap().asked.clone()
    }

    /// Connections opened and closed so far.
    pub(crate) fn connections(&self) -> (usize, usize) {
        let log = self.log.lock().unwrap();
        (log.opened, log.closed)
    }
}

async fn serve<S>(mut stream: S, log: &Mutex<Log>, behave: &Behave)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let connection = {
        let mut log = log.lock().unwrap();
        log.opened += 1;
        log.opened
    };
    let mut nth = 0;
    while let Ok(length) = stream.read_u16().await {
        let mut message = vec![0; length.into()];
        if stream.read_exact(&mut message).await.is_err() {
            break;
        }
        nth += 1;
        let asked = Asked { connection, nth, message };
        log.lock().unwrap().asked.push(asked.clone());
        let mut closing = false;
        for step in behave(&asked) {
            // The client may be gone; that is the test's business.
            let _ = match step {
                Step::Send(message) => {
                    let length = u16::try_from(message.len()).unwrap().to_be_bytes();
                    stream.write_all(&[&length[..], &message].concat()).await
                }
                Step::Raw(bytes) => stream.write_all(&bytes).await,
                Step::Close => {
                    closing = true;
                    Ok(())
                }
            };
            let _ = stream.flush().await;
        }
        if closing {
            break;
        }
    }
    log.lock().unwrap().closed += 1;
}
