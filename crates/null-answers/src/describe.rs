//! Null answers in words, for whoever asks why: with the status and the length that a client gets.
//!
//! They are read off the answers themselves, so that they are true. Called by the doors' own
//! accounts of what they would do.

use crate::blank::{BlankBody, NullAnswer};
use crate::callback;
use crate::null::{AnswerAudience, RequestHints, frame_context, select_answer};
use crate::ready::{self, ReadyAnswer};
use http::Method;
use policy::Ask;
use vocab::RequestKind;

static GET: Method = Method::GET;

/// The answer that is due to a `GET` with no fields beyond those that its kind implies; `named` is
/// the stand-in that a rule names.
pub fn select_for_get<'a>(ask: &Ask<'a>, named: Option<&'a str>) -> AnswerAudience<'a> {
    let behind = ask.url.and_then(|url| url.split_once("://")).map_or("", |(_, behind)| behind);
    let target = behind.find(['/', '?', '#']).map_or("", |at| &behind[at..]);
    let target = target.split('#').next().unwrap_or(target);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let destination = destination(ask.kind);
    select_answer(&RequestHints {
        method: &GET,
        kind: ask.kind,
        frame: frame_context(destination, ask.page, ask.host),
        host: ask.host,
        path: if path.is_empty() { "/" } else { path },
        query,
        accept: "",
        destination,
        service_worker: "",
        named,
    })
}

/// A null answer in a few words: `200, an empty script (0 bytes)`.
pub fn describe(null: &NullAnswer<'_>) -> String {
    match null {
        NullAnswer::Blank(blank) => describe_ready(ready::blank(*blank), named(*blank)),
        NullAnswer::Stub(stub) => {
            let ready = ready::stub(*stub);
            describe_ready(ready, &format!("the stand-in {}", stub.file_name()))
        }
        NullAnswer::Callback(name) => {
            let [before, behind] = callback::CALLBACK_WRAPPING;
            let length = before.len() + name.len() + behind.len();
            format!("200, a script that calls {name} with nothing ({length} bytes)")
        }
        NullAnswer::Socket => "101, a WebSocket that is closed at once".into(),
        NullAnswer::Preflight => "204, which allows the request that it asks about".into(),
    }
}

/// `Sec-Fetch-Dest` of a browser's request of this kind, as far as the kind tells.
const fn destination(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Document => "document",
        RequestKind::Subdocument => "iframe",
        RequestKind::Script => "script",
        RequestKind::Stylesheet => "style",
        RequestKind::Image => "image",
        RequestKind::Font => "font",
        RequestKind::Object => "object",
        RequestKind::Fetch | RequestKind::Websocket => "empty",
        RequestKind::Ping => "report",
        RequestKind::Media | RequestKind::Tunnel | RequestKind::Lookup(_) | RequestKind::Other => {
            ""
        }
    }
}

fn describe_ready(ready: &ReadyAnswer, what: &str) -> String {
    let (status, length) = (ready.status.as_str(), ready.body.len());
    if ready.status.is_success() && ready.status != http::StatusCode::NO_CONTENT {
        let plural = if length == 1 { "" } else { "s" };
        format!("{status}, {what} ({length} byte{plural})")
    } else {
        format!("{status}, {what}")
    }
}

const fn named(blank: BlankBody) -> &'static str {
    match blank {
        BlankBody::Frame => "an empty page",
        BlankBody::ClickToLoad => "a page with a link that opens it in a tab",
        BlankBody::Script => "an empty script",
        BlankBody::Worker => "a service worker that takes itself off",
        BlankBody::Style => "an empty style sheet",
        BlankBody::Bitmap => "a transparent GIF of one pixel",
        BlankBody::Png => "a transparent PNG of one pixel",
        BlankBody::Png2x2 => "a transparent PNG of two pixels by two",
        BlankBody::Png3x2 => "a transparent PNG of three pixels by two",
        BlankBody::Png32x32 => "a transparent PNG of 32 pixels by 32",
        BlankBody::Icon => "a transparent icon",
        BlankBody::Favicon => "Tidegate's sign",
        BlankBody::Svg => "a transparent drawing",
        BlankBody::Font => "a font without a letter",
        BlankBody::Audio => "a tenth of a second of silence",
        BlankBody::Video => "a second of black",
        BlankBody::Captions => "captions without a word",
        BlankBody::Playlist => "a stream that has ended",
        BlankBody::Json => "an empty JSON object",
        BlankBody::Vast2 | BlankBody::Vast3 | BlankBody::Vast4 => {
            "a VAST response without an advertisement"
        }
        BlankBody::Vmap => "a VMAP list without a break",
        BlankBody::Text => "no text",
        BlankBody::NoContent => "nothing to say",
        BlankBody::NoSocket => "a WebSocket that is not opened",
        BlankBody::NoMethod => "a method that has no meaning here",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stubs::Stub;

    #[test]
    fn what_is_told_is_what_is_sent() {
        for (null, expected) in [
            (NullAnswer::Blank(BlankBody::Script), "200, an empty script (0 bytes)"),
            (NullAnswer::Blank(BlankBody::NoContent), "204, nothing to say"),
            (NullAnswer::Blank(BlankBody::NoMethod), "405, a method that has no meaning here"),
            (NullAnswer::Callback("cb"), "200, a script that calls cb with nothing (25 bytes)"),
        ] {
            assert_eq!(describe(&null), expected);
        }
        let length = Stub::GoogleAnalytics.text().len();
        assert_eq!(
            describe(&NullAnswer::Stub(Stub::GoogleAnalytics)),
            format!("200, the stand-in google-analytics.js ({length} bytes)")
        );
    }
}
