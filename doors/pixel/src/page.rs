//! Pages for people, but for the one that says why something is blocked, which `null_answers` has.
//!
//! For names that are not blocked, for connections that are for other names, and for setting a
//! device up. Called by `request` and `setup`.

use crate::answered_names::AnsweredNames;
use crate::platform::DevicePlatform;
use http::{Response, StatusCode};
use http_engine::Body;
use http_engine::html::{self, escape, fill};
use vocab::DomainName;

const NOT_BLOCKED: &str = include_str!("not_blocked.html");
const SETUP: &str = include_str!("setup.html");
const NOT_COVERED: &str = include_str!("not_covered.html");

/// The page for a name that is not blocked, any more or at all: 421.
pub(crate) fn not_blocked(host: &DomainName) -> Response<Body> {
    let content = fill(NOT_BLOCKED, &[("host", &escape(host_shown(host)))]);
    html::page(StatusCode::MISDIRECTED_REQUEST, "Not blocked", &content)
}

/// The page for a name that the connection's certificate does not cover: 421.
pub(crate) fn not_covered(host: &DomainName) -> Response<Body> {
    let content = fill(NOT_COVERED, &[("host", &escape(host_shown(host)))]);
    html::page(StatusCode::MISDIRECTED_REQUEST, "Wrong connection", &content)
}

/// The page with which a device comes to trust our certificates: 200.
pub(crate) fn setup(
    fingerprint: &str,
    platform: DevicePlatform,
    names: AnsweredNames,
) -> Response<Body> {
    // Between bytes is where a line may break.
    let fingerprint = fingerprint.replace(':', ":<wbr>");
    let signed = match names {
        AnsweredNames::Blocked => "names that are blocked at that moment",
        AnsweredNames::Any => "names that a blocker of this network sends here",
    };
    let slots =
        [("fingerprint", fingerprint.as_str()), (platform.as_str(), "open"), ("signed", signed)];
    let content = fill(SETUP, &slots);
    html::page(StatusCode::OK, "Trust this network’s certificates", &content)
}

/// A request without a host, or for one that is no name.
fn host_shown(host: &DomainName) -> &str {
    if host.as_str().is_empty() { "this address" } else { host.as_str() }
}
