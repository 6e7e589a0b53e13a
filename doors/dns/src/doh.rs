//! DNS over HTTPS (RFC 8484): GET, POST and the JSON form, over HTTP/1.1 and HTTP/2, with TLS or
//! behind a proxy that ends it.
//!
//! An HTTP request is read into a question (`doh/read`), which goes the way of every other; the
//! answer is made an HTTP response. It decides nothing about names, believes no header of a
//! stranger (`doh/client`), and lets no web page of another origin read answers. Called by
//! `listeners` and `tls`, once per accepted connection, on the connection's core.

pub(crate) mod client;
mod read;

use crate::caller::{DnsCaller, QueryTransport};
use crate::listener_context::ListenerContext;
use crate::reply_sink::ReplySink;
use crate::request::{self, HandleOutcome};
use crate::tcp::TcpPeer;
use crate::view::RequestView;
use dns_wire::json;
use dns_wire::record_type;
use dns_wire::reply::{MessageSection, records};
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode, Version};
use http_engine::{Body, HttpVersions, Incoming, Limits, reply};
use read::{AnswerForm, BodyRest, DohRefusal, DohRequest};
use std::rc::Rc;
use std::time::Duration;
use telemetry::QueryTrace;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::timeout;
use transport::Stream;

/// Time for which an answer is waited for, as over TCP.
const ANSWER_WAIT: Duration = Duration::from_secs(40);

/// Bytes of a request head: a GET carries a question of 4,096 bytes in 5,462 characters.
const HEADER_BYTES_MAX: usize = 16 << 10;

/// Time for which a connection may stay open without a request. Browsers keep theirs for their next
/// page; the peers take 30 s.
const IDLE: Duration = Duration::from_secs(30);

/// The type of a message as it is (RFC 8484 §6).
const MESSAGE: &str = "application/dns-message";
/// The type of one in JSON, as public resolvers name it.
const JSON: &str = "application/dns-json";

/// Serves one connection without TLS to its end.
pub(crate) async fn serve_plain(line: ListenerContext, stream: Stream) {
    let (client, port) = (stream.peer().ip().to_canonical(), stream.peer().port());
    let local = line.local(&stream);
    let peer = TcpPeer {
        client,
        port,
        local,
        transport: QueryTransport::Https,
        server_name: String::new(),
    };
    serve(line, peer, stream, HttpVersions::Http1And2).await;
}

/// Serves one connection to its end.
pub(crate) async fn serve<I>(line: ListenerContext, peer: TcpPeer, io: I, versions: HttpVersions)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let drain = line.shared.drain.clone();
    let connection = Rc::new((line, peer));
    let handler = move |incoming| {
        let connection = Rc::clone(&connection);
        async move { answer(&connection.0, &connection.1, incoming).await }
    };
    let limits = Limits {
        header_bytes_max: HEADER_BYTES_MAX,
        http2_header_list_bytes_max: HEADER_BYTES_MAX as u32,
        idle_timeout: IDLE,
        stall_timeout: IDLE,
        ..Limits::default()
    };
    let stop = drain.started();
    // How a connection ends is the client's affair; what matters stands in the ledger.
    drop(http_engine::serve(io, versions, limits, stop, handler).await);
}

async fn answer(
    line: &ListenerContext,
    peer: &TcpPeer,
    request: Request<Incoming>,
) -> Response<Body> {
    let (head, mut body) = request.into_parts();
    let trace = QueryTrace::of_request(&head.headers, peer.client);
    let answered = match read::read(line, peer, &head, &mut body).await {
        Ok(wish) => ask(line, peer, &wish, &trace).await.and_then(|reply| shape(&wish, reply)),
        Err(why) => Err(why),
    };
    match answered {
        Ok(answer) => answer,
        Err(why) => refuse(why, head.version, read::drain_body(&mut body).await),
    }
}

/// The answer to a question, as it was over any other way.
async fn ask(
    line: &ListenerContext,
    peer: &TcpPeer,
    wish: &DohRequest,
    trace: &QueryTrace,
) -> Result<Vec<u8>, DohRefusal> {
    let (send, waiting) = oneshot::channel();
    let mut reply = Vec::new();
    let handled = {
        let shared = &line.shared;
        let (policy, plan) = (shared.policy.load(), shared.plan.load());
        let view = RequestView { shared, policy: &policy, plan: &plan };
        let caller = DnsCaller {
            entry: wish.entry,
            // What a proxy says of its client has no port.
            client_port: if wish.client == peer.client { peer.port } else { 0 },
            server_name: &peer.server_name,
            url_path: &wish.path,
            client_id: &wish.client_id,
            trace,
            ..DnsCaller::now(wish.client, peer.transport).with_link_info(&policy, || peer.local)
        };
        if wish.message.len() > crate::stream_limits::QUERY_BYTES_MAX {
            request::refuse_oversized(&view, caller);
            return Err(DohRefusal::TooLong);
        }
        request::handle(&view, &wish.message, caller, &mut reply, || ReplySink::Once(send))
    };
    let reply = match handled {
        HandleOutcome::Now => reply,
        HandleOutcome::Later => match timeout(ANSWER_WAIT, waiting).await {
            Ok(Ok(answer)) => answer,
            // Lost on the way, it is as good as late.
            Ok(Err(_)) | Err(_) => return Err(DohRefusal::NoAnswer),
        },
    };
    if reply.is_empty() { Err(DohRefusal::NotAnswered) } else { Ok(reply) }
}

fn shape(wish: &DohRequest, reply: Vec<u8>) -> Result<Response<Body>, DohRefusal> {
    let fresh_s = freshness_s(&reply);
    let (body, media_type) = match wish.form {
        AnswerForm::Message => (Body::full(reply), MESSAGE),
        AnswerForm::Json => {
            let mut text = String::new();
            json::write_answer(&reply, &mut text).map_err(|_| DohRefusal::NotWritten)?;
            (Body::full(text), JSON)
        }
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    // Private: another client may get another answer, by its lists or by where it is.
    let cache = HeaderValue::try_from(format!("private, max-age={fresh_s}"));
    headers.insert(CACHE_CONTROL, cache.expect("letters and digits are a header's value"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    Ok(response)
}

/// Returns how long an answer may be kept (RFC 8484 §5.1): the least TTL of what was asked for, or
/// for what there is not, as long as the SOA record allows (RFC 2308 §5); else not at all.
fn freshness_s(reply: &[u8]) -> u32 {
    let asked_for = records(reply).take_while(|it| it.section == MessageSection::Answer);
    if let Some(least) = asked_for.map(|it| it.ttl).min() {
        return least;
    }
    let soa = records(reply)
        .find(|it| it.section == MessageSection::Authority && it.rtype == record_type::SOA);
    soa.and_then(|soa| {
        let minimum = u32::from_be_bytes(*soa.data.last_chunk()?);
        Some(minimum.min(soa.ttl))
    })
    .unwrap_or(0)
}

/// The DNS message that a `GET` with this query asks, in base64 or in words; none where it is
/// refused. What it is worth is read later, as that of any message.
pub fn doh_question(query: &str) -> Option<Vec<u8>> {
    read::question_from_query(query).ok().map(|(message, _)| message)
}

fn refuse(why: DohRefusal, version: Version, rest: BodyRest) -> Response<Body> {
    let mut response = reply::text(why.status(), format!("{why}\n"));
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if why.status() == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
    }
    if rest == BodyRest::Unread && version != Version::HTTP_2 {
        // Nothing can follow it on this connection.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reply with one record each in its answer and authority sections where a TTL is given; the
    /// latter is a SOA with this minimum.
    fn reply(answer: Option<u32>, soa: Option<(u32, u32)>) -> Vec<u8> {
        let flag = |there: bool| u8::from(there);
        let mut out =
            vec![0, 0, 0x81, 0x80, 0, 1, 0, flag(answer.is_some()), 0, flag(soa.is_some()), 0, 0];
        out.extend_from_slice(b"\x01a\0\0\x01\0\x01");
        if let Some(ttl) = answer {
            out.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1]);
            out.extend_from_slice(&ttl.to_be_bytes());
            out.extend_from_slice(&[0, 4, 192, 0, 2, 1]);
        }
        if let Some((ttl, minimum)) = soa {
            out.extend_from_slice(&[0, 0, 6, 0, 1]);
            out.extend_from_slice(&ttl.to_be_bytes());
            out.extend_from_slice(&[0, 22, 0, 0]);
            out.extend_from_slice(&[0; 16]);
            out.extend_from_slice(&minimum.to_be_bytes());
        }
        out
    }

    #[test]
    fn an_answer_is_fresh_as_long_as_its_shortest_record() {
        assert_eq!(freshness_s(&reply(Some(300), None)), 300);
        assert_eq!(freshness_s(&reply(Some(300), Some((60, 5)))), 300);
        assert_eq!(freshness_s(&reply(None, Some((60, 900)))), 60);
        assert_eq!(freshness_s(&reply(None, Some((3600, 90)))), 90);
        assert_eq!(freshness_s(&reply(None, None)), 0);
        assert_eq!(freshness_s(&[]), 0);
    }
}
