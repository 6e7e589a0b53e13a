//! A request of a client, read: whom it asks for, what, and who asks.
//!
//! What cannot be one thing for all servers is refused. Called by `request`.

use crate::caller::ClientConnection;
use crate::forwarded::ForwardedHeaders;
use crate::outcome::GatewayRefusal;
use crate::websocket::{self, ConnectRequest};
use http::header::{HOST, HeaderValue};
use http::{Method, Request};
use http_engine::{Incoming, kind};
use http_front::{ConnectionSecurity, page_of};
use origins::{Origin, OriginScheme, UrlHost};
use route_matching::{ParsedRequest, PathSource, RequestAim, SlashRules};
use vocab::Name;

/// Reads a request, and puts its host and path into the form in which servers get them.
pub(crate) fn read(
    slashes: SlashRules,
    telling: ForwardedHeaders<'_>,
    caller: &ClientConnection,
    request: &mut Request<Incoming>,
) -> Result<ParsedRequest, GatewayRefusal> {
    match websocket::parse_connect(request) {
        Some(ConnectRequest::Other) => return Err(GatewayRefusal::Method),
        Some(ConnectRequest::WebSocket) | None => {}
    }
    if *request.method() == Method::TRACE {
        return Err(GatewayRefusal::Method);
    }
    // RFC 9112 §3.2.2: the authority of an absolute target stands over Host.
    if let Some(authority) = request.uri().authority() {
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| GatewayRefusal::Host)?;
        request.headers_mut().insert(HOST, host);
    }
    let uri = request.uri();
    let aimed = RequestAim::read(uri.path(), uri.query(), slashes);
    let RequestAim { path, decoded: plain, raw } = aimed.map_err(GatewayRefusal::Path)?;
    if path.split('?').next() != Some(request.uri().path()) {
        *request.uri_mut() = path.parse().map_err(|_| GatewayRefusal::Host)?;
    }
    let headers = request.headers();
    let asked = match headers.get(HOST).map(HeaderValue::to_str) {
        // HTTP/1.0 knows no Host.
        None | Some(Ok("")) => None,
        Some(Ok(host)) => {
            let scheme = match caller.context.security {
                ConnectionSecurity::Tls(_) => OriginScheme::Https,
                ConnectionSecurity::Plain => OriginScheme::Http,
            };
            Some(Origin::from_authority(scheme, host).map_err(|_| GatewayRefusal::Host)?)
        }
        Some(Err(_)) => return Err(GatewayRefusal::Host),
    };
    let url = match &asked {
        Some(origin) => origin.url(&path),
        None => path.clone(),
    };
    let host = match asked.map(|origin| origin.host) {
        None => Name::ROOT.to_owned(),
        Some(UrlHost::Name(name)) => name,
        Some(address @ UrlHost::Address(_)) => address.to_name(),
    };
    Ok(ParsedRequest {
        client: telling.client(caller.peer(), headers),
        host,
        page: page_of(headers),
        kind: kind::of_request(request.method(), request.uri(), headers),
        path,
        plain,
        url,
        raw,
        path_source: PathSource::Client,
    })
}
