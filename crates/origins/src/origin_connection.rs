//! An open connection to an origin, whatever it goes over, as one stream of bytes.
//!
//! Opened by [`super::dialer`], spoken over by everybody else.

use super::places::OriginPlace;
use http_engine::upgrade::UpgradedStream;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use transport::Stream;
use transport::tls::{Alpn, ClientTlsStream};

/// An open connection to an origin.
#[derive(Debug)]
pub enum OriginConnection {
    /// Plain.
    Plain(Stream),
    /// Over TLS.
    Tls(Box<ClientTlsStream<OriginConnection>>),
    /// Through a proxy's tunnel.
    Tunnelled(Box<UpgradedStream>),
    /// To a socket of this machine.
    Local(UnixStream),
    /// One that has a place among the connections to its origin, which ends with it.
    Placed(Box<PlacedConnection>),
}

/// A connection, and its place among those to its origin.
#[derive(Debug)]
pub struct PlacedConnection {
    connection: OriginConnection,
    _place: OriginPlace,
}

impl OriginConnection {
    /// Returns what was agreed on to be spoken within TLS, if there is TLS and its other end knows
    /// ALPN.
    pub(super) fn alpn(&self) -> Option<Alpn> {
        match self {
            Self::Tls(stream) => stream.alpn(),
            Self::Placed(placed) => placed.connection.alpn(),
            Self::Plain(_) | Self::Tunnelled(_) | Self::Local(_) => None,
        }
    }
}

impl OriginConnection {
    /// The same with its place, if connections to its origin are counted.
    pub(super) fn at(self, place: Option<OriginPlace>) -> Self {
        match place {
            Some(place) => {
                Self::Placed(Box::new(PlacedConnection { connection: self, _place: place }))
            }
            None => self,
        }
    }
}

impl AsyncRead for OriginConnection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tunnelled(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Local(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Placed(placed) => Pin::new(&mut placed.connection).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for OriginConnection {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tunnelled(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Local(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Placed(placed) => Pin::new(&mut placed.connection).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            Self::Tunnelled(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            Self::Local(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            Self::Placed(placed) => {
                Pin::new(&mut placed.connection).poll_write_vectored(cx, pieces)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
            Self::Tunnelled(stream) => stream.is_write_vectored(),
            Self::Local(stream) => stream.is_write_vectored(),
            Self::Placed(placed) => placed.connection.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tunnelled(stream) => Pin::new(stream).poll_flush(cx),
            Self::Local(stream) => Pin::new(stream).poll_flush(cx),
            Self::Placed(placed) => Pin::new(&mut placed.connection).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            // A stream leaves this to its close; whoever ends one half of a tunnel means it.
            Self::Plain(stream) => {
                let _ = stream.shutdown_write();
                Poll::Ready(Ok(()))
            }
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tunnelled(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Local(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Placed(placed) => Pin::new(&mut placed.connection).poll_shutdown(cx),
        }
    }
}
