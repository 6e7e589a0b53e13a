//! The byte stream that a client speaks over.

use tokio::io::{AsyncRead, AsyncWrite};

/// A byte stream to a server, whatever it goes through. It is `Send` because hyper's upgrades are.
pub(crate) trait ClientIo: AsyncRead + AsyncWrite + Unpin + Send {}
impl<I: AsyncRead + AsyncWrite + Unpin + Send> ClientIo for I {}
