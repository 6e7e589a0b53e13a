//! Which null answer is due: the choice alone, without a byte of it.
//!
//! The kind of a request comes from its method and metadata (`http_engine::kind`); here the kinds
//! that scripts fetch are told apart further, by what they accept and by path, and well-known
//! scripts get their stand-in (`stubs`). Called by the doors, once per request.

use crate::blank::{BlankBody, NullAnswer};
use crate::callback;
use crate::named;
use crate::stubs;
use http::Method;
use vocab::{Name, RequestKind};

/// Tells what is due: words for a person, or nothing for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerAudience<'r> {
    /// The page for people.
    Page,
    /// A null answer.
    Null(NullAnswer<'r>),
}

/// Tells whether a page was asked for by a person or by another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameContext {
    /// A tab of its own.
    Tab,
    /// Within a page of another host, as far as is known.
    Frame,
}

/// Fetch metadata comes over HTTPS only. Without it, a page asked for by a page of another host is
/// taken for a frame: a block page amid an article would be worse than an empty one.
pub fn frame_context(destination: &str, page: Option<Name<'_>>, host: Name<'_>) -> FrameContext {
    let is_foreign = page.is_some_and(|page| page != host);
    if destination.is_empty() && is_foreign { FrameContext::Frame } else { FrameContext::Tab }
}

/// Holds what the choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct RequestHints<'r> {
    /// The method.
    pub method: &'r Method,
    /// What is asked for, as far as it shows.
    pub kind: RequestKind,
    /// Who asks.
    pub frame: FrameContext,
    /// The host that is blocked.
    pub host: Name<'r>,
    /// The path, without the query.
    pub path: &'r str,
    /// The query, or nothing.
    pub query: &'r str,
    /// The `Accept` field, or nothing.
    pub accept: &'r str,
    /// The `Sec-Fetch-Dest` field, or nothing.
    pub destination: &'r str,
    /// The `Service-Worker` field, or nothing.
    pub service_worker: &'r str,
    /// The stand-in that a rule names.
    pub named: Option<&'r str>,
}

/// The answer that is due.
pub fn select_answer<'r>(hints: &RequestHints<'r>) -> AnswerAudience<'r> {
    match null(hints) {
        NullAnswer::Blank(BlankBody::Frame | BlankBody::ClickToLoad)
            if hints.kind == RequestKind::Document && hints.frame == FrameContext::Tab =>
        {
            AnswerAudience::Page
        }
        null => AnswerAudience::Null(null),
    }
}

fn null<'r>(hints: &RequestHints<'r>) -> NullAnswer<'r> {
    if *hints.method == Method::OPTIONS {
        return NullAnswer::Preflight;
    }
    if *hints.method == Method::CONNECT || *hints.method == Method::TRACE {
        return NullAnswer::Blank(BlankBody::NoMethod);
    }
    let reads = *hints.method == Method::GET || *hints.method == Method::HEAD;
    if reads && is_connectivity_check(hints.path) {
        return NullAnswer::Blank(BlankBody::NoContent);
    }
    if reads && let Some(null) = hints.named.and_then(named::find) {
        return null;
    }
    // What is posted as an image or a script is a beacon in disguise.
    if !reads && is_element(hints.kind) {
        return NullAnswer::Blank(BlankBody::NoContent);
    }
    match hints.kind {
        RequestKind::Document | RequestKind::Subdocument | RequestKind::Object => {
            NullAnswer::Blank(BlankBody::Frame)
        }
        RequestKind::Websocket => NullAnswer::Socket,
        RequestKind::Ping => NullAnswer::Blank(BlankBody::NoContent),
        RequestKind::Fetch | RequestKind::Other => fetched(hints),
        RequestKind::Script => script(hints),
        RequestKind::Stylesheet => NullAnswer::Blank(BlankBody::Style),
        RequestKind::Image => NullAnswer::Blank(image(hints)),
        RequestKind::Font => NullAnswer::Blank(BlankBody::Font),
        RequestKind::Media => NullAnswer::Blank(media(hints)),
        RequestKind::Tunnel | RequestKind::Lookup(_) => NullAnswer::Blank(BlankBody::NoMethod),
    }
}

fn is_element(kind: RequestKind) -> bool {
    matches!(
        kind,
        RequestKind::Script
            | RequestKind::Stylesheet
            | RequestKind::Image
            | RequestKind::Font
            | RequestKind::Media
    )
}

fn script<'r>(hints: &RequestHints<'r>) -> NullAnswer<'r> {
    if hints.destination == "serviceworker" || hints.service_worker == "script" {
        return NullAnswer::Blank(BlankBody::Worker);
    }
    let called = || callback::named(hints.query).map(NullAnswer::Callback);
    stubs::find(hints.host, hints.path)
        .map(NullAnswer::Stub)
        .or_else(called)
        .unwrap_or(NullAnswer::Blank(BlankBody::Script))
}

fn image(hints: &RequestHints<'_>) -> BlankBody {
    if hints.path == "/favicon.ico" {
        return BlankBody::Favicon;
    }
    match http_engine::kind::extension(hints.path) {
        it if it.eq_ignore_ascii_case("svg") => BlankBody::Svg,
        it if it.eq_ignore_ascii_case("png") => BlankBody::Png,
        it if it.eq_ignore_ascii_case("ico") => BlankBody::Icon,
        _ => BlankBody::Bitmap,
    }
}

fn media(hints: &RequestHints<'_>) -> BlankBody {
    let extension = http_engine::kind::extension(hints.path);
    let is = |known: &[&str]| known.iter().any(|it| it.eq_ignore_ascii_case(extension));
    if is(&["vtt"]) || hints.destination == "track" {
        return BlankBody::Captions;
    }
    if is(&["m3u8"]) {
        return BlankBody::Playlist;
    }
    // A video element plays sound too, but some players wait for a picture's measures.
    match hints.destination {
        "video" => BlankBody::Video,
        "audio" => BlankBody::Audio,
        _ if is(&["mp4", "m4v", "webm", "ogv", "mpd"]) => BlankBody::Video,
        _ if hints.accept.starts_with("video/") => BlankBody::Video,
        _ => BlankBody::Audio,
    }
}

/// Returns what a script fetches, or what nothing is known of.
fn fetched<'r>(hints: &RequestHints<'r>) -> NullAnswer<'r> {
    let accepts = |word| contains_ignoring_case(hints.accept, word);
    // Anything but 204 has an EventSource connect again for ever (HTML §9.2).
    if accepts("text/event-stream") {
        return NullAnswer::Blank(BlankBody::NoContent);
    }
    if accepts("application/json") || accepts("+json") || extension_is(hints.path, "json") {
        return NullAnswer::Blank(BlankBody::Json);
    }
    if *hints.method != Method::GET && *hints.method != Method::HEAD {
        return NullAnswer::Blank(BlankBody::NoContent);
    }
    let says = |word| {
        contains_ignoring_case(hints.path, word) || contains_ignoring_case(hints.query, word)
    };
    if says("vmap") {
        return NullAnswer::Blank(BlankBody::Vmap);
    }
    let is_xml =
        extension_is(hints.path, "xml") || accepts("application/xml") || accepts("text/xml");
    if is_xml || says("vast") {
        let version = vast_version(hints.path).or_else(|| vast_version(hints.query));
        return NullAnswer::Blank(version.unwrap_or(BlankBody::Vast3));
    }
    if extension_is(hints.path, "m3u8") {
        return NullAnswer::Blank(BlankBody::Playlist);
    }
    // Pages probe for blockers by fetching the script that they have a tag for, too.
    if let Some(stub) = stubs::find(hints.host, hints.path) {
        return NullAnswer::Stub(stub);
    }
    callback::named(hints.query).map_or(NullAnswer::Blank(BlankBody::Text), NullAnswer::Callback)
}

/// The version that stands behind the word: `vast4`, `xml_vast2`, `vast_version=3`, `vast/v4.1`.
fn vast_version(text: &str) -> Option<BlankBody> {
    let bytes = text.as_bytes();
    let behind = bytes.windows(4).position(|it| it.eq_ignore_ascii_case(b"vast"))? + 4;
    // Between the word and its number stand some letters at most.
    let number = bytes[behind..].iter().take(12).find(|it| it.is_ascii_digit())?;
    match number {
        b'2' => Some(BlankBody::Vast2),
        b'3' => Some(BlankBody::Vast3),
        b'4' => Some(BlankBody::Vast4),
        _ => None,
    }
}

/// Where devices ask whether they are online; they want 204 and take all else for a captive portal.
fn is_connectivity_check(path: &str) -> bool {
    path.eq_ignore_ascii_case("/generate_204") || path.eq_ignore_ascii_case("/gen_204")
}

fn extension_is(path: &str, extension: &str) -> bool {
    http_engine::kind::extension(path).eq_ignore_ascii_case(extension)
}

fn contains_ignoring_case(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|it| it.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blanks_number_is_its_place() {
        for (index, blank) in BlankBody::ALL.into_iter().enumerate() {
            assert_eq!(blank.index(), index, "{blank:?}");
        }
    }

    #[test]
    fn every_blank_has_a_name_of_its_own() {
        let names: std::collections::HashSet<_> = BlankBody::ALL.map(BlankBody::as_str).into();
        assert_eq!(names.len(), BlankBody::ALL.len(), "two of one name are one series twice");
    }

    #[test]
    fn the_version_of_an_advertisement_is_read_behind_its_word() {
        for (text, version) in [
            ("/vast4.xml", Some(BlankBody::Vast4)),
            ("output=xml_vast2&x=3", Some(BlankBody::Vast2)),
            ("env=vp&VAST_version=3.0", Some(BlankBody::Vast3)),
            ("/vast/v4.1/tag", Some(BlankBody::Vast4)),
            ("/vast?x", None),
            ("/vast1", None),
            ("", None),
        ] {
            assert_eq!(vast_version(text), version, "{text}");
        }
    }
}
