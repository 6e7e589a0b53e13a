//! Pages of the proxy in place of what it does not pass on: short, in words, with the reason.
//!
//! Plain text that is never stored, with `Proxy-Status` (RFC 9209) for programs; `request` shows it
//! to people as a page.

use crate::access::AccessDenied;
use http::header::{ALLOW, HeaderName, HeaderValue, LOCATION, PROXY_AUTHENTICATE, RETRY_AFTER};
use http::{Method, Response, StatusCode};
use http_engine::{Body, reply};
use http_front::pages::plain;
use origins::{Blame, DialError, OriginBusy, SendError};
use policy::RuleText;
use vocab::DomainName;

const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");

/// A refusal or failure of the proxy itself.
fn page(status: StatusCode, error: &'static str, text: String) -> Response<Body> {
    let mut page = plain(status, text);
    page.headers_mut().insert(PROXY_STATUS, HeaderValue::from_static(error));
    page
}

/// Says to programs that `answer` is in place of what the policy blocks.
pub(crate) fn denied_by_policy(answer: &mut Response<Body>) {
    let error = HeaderValue::from_static("tidegate; error=http_request_denied");
    answer.headers_mut().insert(PROXY_STATUS, error);
}

/// The policy blocks it, or the name that its host is an alias of. Names list, line and rule.
pub(crate) fn blocked(
    subject: &str,
    alias: Option<&DomainName>,
    rule: Option<&RuleText>,
) -> Response<Body> {
    let alias = alias.map_or_else(String::new, |it| format!("Its host is an alias of {it}.\n"));
    let why = alias + &rule_line(rule);
    let text =
        format!("Tidegate blocks {subject}\n{why}The whole reasoning: tidegate why '{subject}'\n");
    page(StatusCode::FORBIDDEN, "tidegate; error=http_request_denied", text)
}

/// Rules take parameters off its URL: the client is to ask for the shorter one, and for the same as
/// before should the rules change.
pub(crate) fn remove_params_redirect(
    location: HeaderValue,
    rule: Option<&RuleText>,
) -> Response<Body> {
    let mut page = plain(StatusCode::TEMPORARY_REDIRECT, rule_line(rule));
    let headers = page.headers_mut();
    headers.insert(LOCATION, location);
    // A string of RFC 9651: visible ASCII, without what would end it.
    let is_plain = |c: &char| (' '..='~').contains(c) && !matches!(c, '"' | '\\');
    let details: String = rule_line(rule).trim_end().chars().filter(is_plain).collect();
    let status = HeaderValue::try_from(format!("tidegate; details=\"removeparam: {details}\""));
    headers.insert(PROXY_STATUS, status.expect("visible ASCII only"));
    page
}

/// Which rule it was, in a line.
fn rule_line(rule: Option<&RuleText>) -> String {
    rule.map_or_else(
        || "The rule is gone from its list by now.\n".to_owned(),
        |rule| format!("List {}, line {}: {}\n", rule.list, rule.line, rule.text),
    )
}

/// Not for this client.
pub(crate) fn client_refused() -> Response<Body> {
    let text = "This proxy does not serve your address (proxy.clients).\n";
    page(StatusCode::FORBIDDEN, "tidegate; error=http_request_denied", text.into())
}

/// The client has not said who it is, or not rightly.
pub(crate) fn denied(why: &AccessDenied) -> Response<Body> {
    match why {
        AccessDenied::Challenge(challenges) => {
            let text = "This proxy wants to know who you are: give a user name and its password.\n";
            let mut page = page(
                StatusCode::PROXY_AUTHENTICATION_REQUIRED,
                "tidegate; error=http_request_denied",
                text.into(),
            );
            for challenge in challenges {
                page.headers_mut().append(PROXY_AUTHENTICATE, challenge.clone());
            }
            page
        }
        AccessDenied::Guessing => {
            let text = "Too many wrong passwords from your address. Wait some seconds.\n";
            let mut page = page(
                StatusCode::TOO_MANY_REQUESTS,
                "tidegate; error=http_request_denied",
                text.into(),
            );
            page.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
            page
        }
        AccessDenied::Busy => {
            let text = "Too many passwords are being checked. Try again.\n";
            let mut page = page(
                StatusCode::SERVICE_UNAVAILABLE,
                "tidegate; error=proxy_internal_response",
                text.into(),
            );
            page.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            page
        }
    }
}

/// To a transparent listener itself.
pub(crate) fn not_intercepted() -> Response<Body> {
    let text = "This port takes connections to others that the firewall of this machine redirects \
                to it. This one was meant for the port itself: a browser that is to use a proxy \
                needs an http:// listener (proxy.listen).\n";
    page(StatusCode::MISDIRECTED_REQUEST, "tidegate; error=http_request_denied", text.into())
}

/// Not to this port.
pub(crate) fn port(method: &Method, port: u16) -> Response<Body> {
    let text = if method == Method::CONNECT {
        format!("Tunnels to port {port} are not allowed (proxy.connect_ports).\n")
    } else {
        format!("Nothing is fetched from port {port} (proxy.fetch_ports).\n")
    };
    page(StatusCode::FORBIDDEN, "tidegate; error=http_request_denied", text)
}

/// The script failed. The log has its line.
pub(crate) fn script_failed() -> Response<Body> {
    let text = "The script of this proxy failed (proxy.script); its log has the line.\n";
    page(StatusCode::INTERNAL_SERVER_ERROR, "tidegate; error=proxy_internal_error", text.into())
}

/// The redirector leads it to another URL.
pub(crate) fn redirected(status: StatusCode, url: &str) -> Response<Body> {
    let mut page = plain(status, format!("This is at {url}\n"));
    match HeaderValue::from_str(url) {
        Ok(location) => {
            page.headers_mut().insert(LOCATION, location);
            page
        }
        Err(_) => redirector_failed(),
    }
}

/// The redirector leads a tunnel elsewhere, which nobody can.
pub(crate) fn tunnel_redirected(subject: &str) -> Response<Body> {
    let text = format!("The redirector refuses the tunnel to {subject}\n");
    page(StatusCode::FORBIDDEN, "tidegate; error=http_request_denied", text)
}

/// The redirector says nothing that could be done.
pub(crate) fn redirector_failed() -> Response<Body> {
    let text = "The program that is asked about URLs does not answer (proxy.redirector).\n";
    let mut page = page(
        StatusCode::SERVICE_UNAVAILABLE,
        "tidegate; error=proxy_internal_response",
        text.into(),
    );
    page.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("2"));
    page
}

/// The request makes no sense.
pub(crate) fn bad_request(why: &str) -> Response<Body> {
    page(StatusCode::BAD_REQUEST, "tidegate; error=http_request_error", format!("{why}.\n"))
}

/// The request has come round.
pub(crate) fn loop_detected() -> Response<Body> {
    let text = "This request goes round in circles between proxies.\n";
    page(StatusCode::LOOP_DETECTED, "tidegate; error=proxy_loop_detected", text.into())
}

/// `TRACE` would show a page's script what its browser hides from it.
pub(crate) fn no_trace() -> Response<Body> {
    let mut page = page(
        StatusCode::METHOD_NOT_ALLOWED,
        "tidegate; error=http_request_denied",
        "TRACE is not passed on.\n".into(),
    );
    let rest = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, CONNECT";
    page.headers_mut().insert(ALLOW, HeaderValue::from_static(rest));
    page
}

/// `OPTIONS` whose `Max-Forwards` ends here.
pub(crate) fn options() -> Response<Body> {
    reply::empty(StatusCode::NO_CONTENT)
}

/// Somebody takes the proxy for a web server.
pub(crate) fn help(address: &str) -> Response<Body> {
    let text = format!(
        "This is Tidegate's proxy, not a web site.\n\
         Set {address} as the HTTP proxy of your browser or system, or try:\n\
         \n    curl --proxy http://{address} http://example.com/\n"
    );
    page(StatusCode::BAD_REQUEST, "tidegate; error=http_request_error", text)
}

/// The one place where a failure upstream becomes a status.
pub(crate) fn error_page(subject: &str, why: &SendError) -> Response<Body> {
    let status = match why.blame() {
        Blame::Origin => StatusCode::BAD_GATEWAY,
        Blame::Slow => StatusCode::GATEWAY_TIMEOUT,
        Blame::Client => StatusCode::BAD_REQUEST,
        Blame::Guard => StatusCode::FORBIDDEN,
        Blame::Busy => StatusCode::SERVICE_UNAVAILABLE,
    };
    let error = match why {
        SendError::Dial(DialError::NoAddress(_)) => "tidegate; error=dns_error",
        SendError::Dial(DialError::Forbidden) => "tidegate; error=destination_ip_prohibited",
        SendError::Dial(DialError::CnameBlocked(_) | DialError::ParentRefused(_)) => {
            "tidegate; error=http_request_denied"
        }
        SendError::Dial(DialError::Refused(_)) => "tidegate; error=connection_refused",
        SendError::Dial(DialError::Timeout) => "tidegate; error=connection_timeout",
        SendError::Dial(DialError::Tls(_)) => "tidegate; error=tls_protocol_error",
        SendError::Dial(DialError::Parent(_)) => "tidegate; error=destination_unavailable",
        SendError::Busy(OriginBusy::QueueFull | OriginBusy::TooLong) => {
            "tidegate; error=connection_limit_reached"
        }
        SendError::Closed => "tidegate; error=connection_terminated",
        SendError::Timeout => "tidegate; error=http_response_timeout",
        SendError::BadResponse(_) => "tidegate; error=http_protocol_error",
        SendError::BodyTooLarge | SendError::BodyBroken => "tidegate; error=http_request_error",
    };
    let mut text = format!("Tidegate could not fetch {subject}: {why}.\n");
    if matches!(why, SendError::Dial(DialError::Forbidden)) {
        text.push_str("proxy.destinations says how far, proxy.rebinding_allow which public names lead inside.\n");
    }
    page(status, error, text)
}
