//! A door as the binary sees it, whatever is behind it.
//!
//! Implemented by the pixel, proxy, web and gateway doors; walked by the binary, which binds the
//! listeners and hands over the connections.

use http_engine::UnfinishedCounts;
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use transport::tls::CertificateFacts;
use transport::{ConnectionLimits, Drain, Stream};
use vocab::{Listen, Scheme};

/// One connection served to its end.
pub type ServeFuture = Pin<Box<dyn Future<Output = ()>>>;

/// A door that speaks HTTP.
pub trait HttpDoor: Any + Send + Sync {
    /// The addresses to listen at.
    fn listeners(&self) -> Vec<Listen>;

    /// The caps on its connections, to share among all its listeners.
    fn connection_limits(&self) -> ConnectionLimits;

    /// Serves one connection to its end, with TLS where its listener is an `https` one. Within a
    /// `LocalSet` or local runtime only.
    fn serve(self: Arc<Self>, scheme: Scheme, stream: Stream, drain: Drain) -> ServeFuture;

    /// The requests that are within their bodies; none at a door that passes no body on.
    fn unfinished_requests(&self) -> Option<UnfinishedCounts> {
        None
    }

    /// The certificates that it presents now; none where it has none of its own.
    fn certificates(&self) -> Vec<CertificateFacts> {
        Vec::new()
    }

    /// Waits until what is on its way to disk is there: before the program ends.
    fn flush(&self) {}
}
