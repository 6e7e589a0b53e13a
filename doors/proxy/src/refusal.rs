//! Refusals of requests that go no further than being read, and their answers.
//!
//! Made and shaped by `request`.

use crate::access::AccessDenied;
use crate::connection::ProxyConnection;
use crate::context::PageSubject;
use crate::local_endpoints::{self, LocalEndpoint};
use crate::pages;
use crate::setup::ProxySetup;
use crate::target::BadTarget;
use http::{Method, Response};
use http_engine::Body;
use vocab::Source;

/// Reason why a request goes no further than being read.
pub(crate) enum ProxyRefusal {
    ClientNotAllowed,
    Denied(AccessDenied),
    Target(BadTarget),
    Local(LocalEndpoint),
    Port(Method, u16),
    Trace,
    EndsHere,
    /// At a transparent listener, by nobody's redirection.
    NotIntercepted,
    /// One of our own that came round.
    Loop,
}

impl ProxyRefusal {
    /// The answer to it.
    pub(crate) fn shape(
        &self,
        caller: &ProxyConnection,
        setup: &ProxySetup,
        page: PageSubject<'_>,
    ) -> (Response<Body>, Source) {
        let local = |response| (response, Source::Local);
        let text = match self {
            Self::Local(LocalEndpoint::Pac) => {
                return local(local_endpoints::script(caller, page.text, &setup.settings.pac));
            }
            Self::Local(LocalEndpoint::Help) => {
                return local(local_endpoints::help(caller, page.text));
            }
            Self::Local(LocalEndpoint::NotFound) => pages::help(page.text),
            Self::ClientNotAllowed => pages::client_refused(),
            Self::Denied(why) => pages::denied(why),
            Self::Target(why) => pages::bad_request(&why.to_string()),
            Self::Port(method, port) => pages::port(method, *port),
            Self::Trace => pages::no_trace(),
            Self::EndsHere => pages::options(),
            Self::Loop => pages::loop_detected(),
            Self::NotIntercepted => pages::not_intercepted(),
        };
        (page.reader.render_for(text), Source::Refused)
    }
}
