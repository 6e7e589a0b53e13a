//! The way to the provider, which whoever uses this crate hands in.

use std::time::Duration;

/// Bytes of a provider's answer that are read; a longer one is none.
pub const ANSWER_BYTES_MAX: usize = 256 << 10;
/// Time for one exchange with a provider.
pub const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// A request to a provider: a POST where there is a form, else a GET. It has no debug form, because
/// it carries secrets.
#[derive(Clone)]
pub struct ProviderRequest {
    /// Where it goes.
    pub url: String,
    /// The value of `Authorization`.
    pub authorization: Option<String>,
    /// The body, as `application/x-www-form-urlencoded`.
    pub form: Option<String>,
}

/// An answer of a provider.
#[derive(Clone)]
pub struct ProviderAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The body, at most [`ANSWER_BYTES_MAX`].
    pub body: Vec<u8>,
}

/// Why a provider gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderUnreachable(pub String);

/// A way to a provider. It follows no redirect, reads at most [`ANSWER_BYTES_MAX`], and gives up
/// after [`ANSWER_TIME_MAX`].
pub trait ProviderTransport: Send + Sync {
    /// Sends a request and waits for the whole answer. Blocks its thread.
    fn send(&self, request: ProviderRequest) -> Result<ProviderAnswer, ProviderUnreachable>;
}
