//! `Proxy-Status` (RFC 9209): what went wrong between this proxy and the next hop.
//!
//! Pure. Called by the doors for every answer that they make themselves because of an error.

use super::status_header::StatusMember;
use http::StatusCode;
use http::header::HeaderValue;

/// Holds what this proxy says of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyReport<'a> {
    /// Error that occurred; none if the answer was passed on.
    pub error: Option<ProxyError>,
    /// Where it went wrong: a name or an address.
    pub next_hop: Option<&'a str>,
    /// The status that the next hop answered, where this proxy answers another.
    pub received_status: Option<StatusCode>,
    /// Details for people.
    pub details: Option<&'a str>,
}

/// The registered kinds of errors (RFC 9209 §2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each is named as it is registered, and the register says what it is"
)]
pub enum ProxyError {
    DnsTimeout,
    DnsError,
    DestinationNotFound,
    DestinationUnavailable,
    DestinationIpProhibited,
    DestinationIpUnroutable,
    ConnectionRefused,
    ConnectionTerminated,
    ConnectionTimeout,
    ConnectionReadTimeout,
    ConnectionWriteTimeout,
    ConnectionLimitReached,
    TlsProtocolError,
    TlsCertificateError,
    TlsAlertReceived,
    HttpRequestError,
    HttpRequestDenied,
    HttpResponseIncomplete,
    HttpResponseHeaderSectionSize,
    HttpResponseHeaderSize,
    HttpResponseBodySize,
    HttpResponseTrailerSectionSize,
    HttpResponseTrailerSize,
    HttpResponseTransferCoding,
    HttpResponseContentCoding,
    HttpResponseTimeout,
    HttpUpgradeFailed,
    HttpProtocolError,
    ProxyInternalResponse,
    ProxyInternalError,
    ProxyConfigurationError,
    ProxyLoopDetected,
}

/// The field's value. `proxy` is what this proxy is called.
pub fn proxy_status(proxy: &str, report: &ProxyReport<'_>) -> HeaderValue {
    let mut said = StatusMember::by(proxy);
    if let Some(error) = report.error {
        said.token("error", error.word());
    }
    if let Some(next_hop) = report.next_hop {
        said.text("next-hop", next_hop);
    }
    if let Some(status) = report.received_status {
        said.number("received-status", i64::from(status.as_u16()));
    }
    if let Some(details) = report.details {
        said.text("details", details);
    }
    said.value()
}

impl ProxyError {
    /// The registered word and the status that is recommended for it. None is given for an answer
    /// that the proxy made for reasons of its own.
    const fn registered(self) -> (&'static str, Option<StatusCode>) {
        use StatusCode as S;
        match self {
            Self::DnsTimeout => ("dns_timeout", Some(S::GATEWAY_TIMEOUT)),
            Self::DnsError => ("dns_error", Some(S::BAD_GATEWAY)),
            Self::DestinationNotFound => ("destination_not_found", Some(S::INTERNAL_SERVER_ERROR)),
            Self::DestinationUnavailable => {
                ("destination_unavailable", Some(S::SERVICE_UNAVAILABLE))
            }
            Self::DestinationIpProhibited => ("destination_ip_prohibited", Some(S::BAD_GATEWAY)),
            Self::DestinationIpUnroutable => ("destination_ip_unroutable", Some(S::BAD_GATEWAY)),
            Self::ConnectionRefused => ("connection_refused", Some(S::BAD_GATEWAY)),
            Self::ConnectionTerminated => ("connection_terminated", Some(S::BAD_GATEWAY)),
            Self::ConnectionTimeout => ("connection_timeout", Some(S::GATEWAY_TIMEOUT)),
            Self::ConnectionReadTimeout => ("connection_read_timeout", Some(S::GATEWAY_TIMEOUT)),
            Self::ConnectionWriteTimeout => ("connection_write_timeout", Some(S::GATEWAY_TIMEOUT)),
            Self::ConnectionLimitReached => {
                ("connection_limit_reached", Some(S::SERVICE_UNAVAILABLE))
            }
            Self::TlsProtocolError => ("tls_protocol_error", Some(S::BAD_GATEWAY)),
            Self::TlsCertificateError => ("tls_certificate_error", Some(S::BAD_GATEWAY)),
            Self::TlsAlertReceived => ("tls_alert_received", Some(S::BAD_GATEWAY)),
            Self::HttpRequestError => ("http_request_error", Some(S::BAD_REQUEST)),
            Self::HttpRequestDenied => ("http_request_denied", Some(S::FORBIDDEN)),
            Self::HttpResponseIncomplete => ("http_response_incomplete", Some(S::BAD_GATEWAY)),
            Self::HttpResponseHeaderSectionSize => {
                ("http_response_header_section_size", Some(S::BAD_GATEWAY))
            }
            Self::HttpResponseHeaderSize => ("http_response_header_size", Some(S::BAD_GATEWAY)),
            Self::HttpResponseBodySize => ("http_response_body_size", Some(S::BAD_GATEWAY)),
            Self::HttpResponseTrailerSectionSize => {
                ("http_response_trailer_section_size", Some(S::BAD_GATEWAY))
            }
            Self::HttpResponseTrailerSize => ("http_response_trailer_size", Some(S::BAD_GATEWAY)),
            Self::HttpResponseTransferCoding => {
                ("http_response_transfer_coding", Some(S::BAD_GATEWAY))
            }
            Self::HttpResponseContentCoding => {
                ("http_response_content_coding", Some(S::BAD_GATEWAY))
            }
            Self::HttpResponseTimeout => ("http_response_timeout", Some(S::GATEWAY_TIMEOUT)),
            Self::HttpUpgradeFailed => ("http_upgrade_failed", Some(S::BAD_GATEWAY)),
            Self::HttpProtocolError => ("http_protocol_error", Some(S::BAD_GATEWAY)),
            Self::ProxyInternalResponse => ("proxy_internal_response", None),
            Self::ProxyInternalError => ("proxy_internal_error", Some(S::INTERNAL_SERVER_ERROR)),
            Self::ProxyConfigurationError => {
                ("proxy_configuration_error", Some(S::INTERNAL_SERVER_ERROR))
            }
            Self::ProxyLoopDetected => ("proxy_loop_detected", Some(S::BAD_GATEWAY)),
        }
    }

    /// The registered word.
    pub const fn word(self) -> &'static str {
        self.registered().0
    }

    /// The status that is recommended for an answer with it.
    pub const fn status(self) -> Option<StatusCode> {
        self.registered().1
    }
}
