//! TLS with the database, by the one client of the house.
//!
//! A certificate is always checked, against the name in the URL: what others call `verify-full`.
//! Channel binding is not offered. Used by [`crate::connection`] and by queries.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use transport::ClientTls;
use transport::tls::{ClientTlsStream, ConnectError};

/// The way to a database over TLS.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseTls(pub(crate) ClientTls);

/// One connection's way.
pub(crate) struct DatabaseHandshake {
    tls: ClientTls,
    host: String,
}

/// A connection over TLS.
pub(crate) struct DatabaseStream<S>(ClientTlsStream<S>);

impl<S> MakeTlsConnect<S> for DatabaseTls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = DatabaseStream<S>;
    type TlsConnect = DatabaseHandshake;
    type Error = ConnectError;

    fn make_tls_connect(&mut self, host: &str) -> Result<DatabaseHandshake, ConnectError> {
        Ok(DatabaseHandshake { tls: self.0.clone(), host: host.to_owned() })
    }
}

impl<S> TlsConnect<S> for DatabaseHandshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = DatabaseStream<S>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<DatabaseStream<S>, ConnectError>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { self.tls.connect(stream, &self.host, &[]).await.map(DatabaseStream) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for DatabaseStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for DatabaseStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for DatabaseStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}
