//! Which null answer is due: the choice alone, without a byte of it.
//!
//! The kind of a request comes from its method and metadata (`http_engine::kind`); here the kinds
//! that scripts fetch are told apart further, by what they accept and by path. It never looks at
//! host names. Called by `request`, once per request.

use http::Method;
use vocab::Kind;

/// An answer that does nothing, of the type that whoever asked can digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Null<'r> {
    /// An empty page inside another, whose load event fires.
    Frame,
    /// An empty script.
    Script,
    /// A script that calls this function with an empty object (JSONP).
    Callback(&'r str),
    /// An empty style sheet.
    Style,
    /// A transparent bitmap of one pixel.
    Bitmap,
    /// A transparent drawing.
    Drawing,
    /// No font: the page falls back to one of its own at once.
    Font,
    /// A tenth of a second of silence.
    Sound,
    /// Captions that caption nothing.
    Captions,
    /// A stream that has ended.
    Playlist,
    /// `{}`
    Json,
    /// A video advertisement response without an advertisement.
    Vast,
    /// A list of advertisement breaks without a break.
    Vmap,
    /// No bytes at all, as text.
    Text,
    /// 204: taken, and nothing to say.
    Nothing,
    /// A WebSocket that is not opened.
    NoSocket,
    /// The answer to a CORS preflight.
    Preflight,
    /// A method that has no meaning here.
    NoMethod,
}

/// What is due: words for a person, or nothing for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due<'r> {
    /// The page for people.
    Page,
    /// A null answer.
    Null(Null<'r>),
}

/// Whether a page was asked for by a person or by another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    /// A tab of its own.
    Tab,
    /// Within a page of another host, as far as is known.
    Frame,
}

/// What the choice depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hints<'r> {
    pub(crate) method: &'r Method,
    pub(crate) kind: Kind,
    pub(crate) seat: Seat,
    /// The path, without the query.
    pub(crate) path: &'r str,
    pub(crate) query: &'r str,
    /// The `Accept` field, or nothing.
    pub(crate) accept: &'r str,
}

/// Longest name of a JSONP callback that is called.
const CALLBACK_BYTES_MAX: usize = 128;
/// Parameters in which callbacks are named.
const CALLBACK_WORDS: [&str; 7] =
    ["callback", "jsonp", "jsoncallback", "json_callback", "jsonpcallback", "_callback", "cb"];

/// The answer that is due.
pub(crate) fn due<'r>(hints: &Hints<'r>) -> Due<'r> {
    match null(hints) {
        Null::Frame if hints.kind == Kind::Document && hints.seat == Seat::Tab => Due::Page,
        null => Due::Null(null),
    }
}

fn null<'r>(hints: &Hints<'r>) -> Null<'r> {
    if *hints.method == Method::OPTIONS {
        return Null::Preflight;
    }
    if *hints.method == Method::CONNECT || *hints.method == Method::TRACE {
        return Null::NoMethod;
    }
    let reads = *hints.method == Method::GET || *hints.method == Method::HEAD;
    if reads && is_connectivity_check(hints.path) {
        return Null::Nothing;
    }
    // What is posted as an image or a script is a beacon in disguise.
    if !reads && is_element(hints.kind) {
        return Null::Nothing;
    }
    match hints.kind {
        Kind::Document | Kind::Subdocument | Kind::Object => Null::Frame,
        Kind::Websocket => Null::NoSocket,
        Kind::Ping => Null::Nothing,
        Kind::Fetch | Kind::Other => fetched(hints),
        Kind::Script => callback(hints.query).map_or(Null::Script, Null::Callback),
        Kind::Stylesheet => Null::Style,
        Kind::Image if extension_is(hints.path, "svg") => Null::Drawing,
        Kind::Image => Null::Bitmap,
        Kind::Font => Null::Font,
        Kind::Media if extension_is(hints.path, "vtt") => Null::Captions,
        Kind::Media if extension_is(hints.path, "m3u8") => Null::Playlist,
        Kind::Media => Null::Sound,
        Kind::Tunnel | Kind::Lookup(_) => Null::NoMethod,
    }
}

fn is_element(kind: Kind) -> bool {
    matches!(kind, Kind::Script | Kind::Stylesheet | Kind::Image | Kind::Font | Kind::Media)
}

/// What a script fetches, or what nothing is known of.
fn fetched<'r>(hints: &Hints<'r>) -> Null<'r> {
    let accepts = |word| contains_ignoring_case(hints.accept, word);
    // Anything but 204 has an EventSource connect again for ever (HTML §9.2).
    if accepts("text/event-stream") {
        return Null::Nothing;
    }
    if accepts("application/json") || accepts("+json") || extension_is(hints.path, "json") {
        return Null::Json;
    }
    if *hints.method != Method::GET && *hints.method != Method::HEAD {
        return Null::Nothing;
    }
    if contains_ignoring_case(hints.path, "vmap") {
        return Null::Vmap;
    }
    let is_xml =
        extension_is(hints.path, "xml") || accepts("application/xml") || accepts("text/xml");
    if is_xml || contains_ignoring_case(hints.path, "vast") {
        return Null::Vast;
    }
    if extension_is(hints.path, "m3u8") {
        return Null::Playlist;
    }
    callback(hints.query).map_or(Null::Text, Null::Callback)
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

/// The callback that a query names, if it is the name of a function and nothing else.
pub(crate) fn callback(query: &str) -> Option<&str> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(word, _)| CALLBACK_WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)))
        .map(|(_, name)| name)
        .filter(|name| is_function_name(name))
}

/// Identifiers joined by dots: nothing that could be more than a name.
fn is_function_name(name: &str) -> bool {
    let is_identifier = |part: &str| {
        let mut bytes = part.bytes();
        let starts = bytes.next().is_some_and(|it| it.is_ascii_alphabetic() || b"_$".contains(&it));
        starts && bytes.all(|it| it.is_ascii_alphanumeric() || b"_$".contains(&it))
    };
    name.len() <= CALLBACK_BYTES_MAX && name.split('.').all(is_identifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_a_name_and_nothing_else() {
        assert_eq!(callback("a=1&callback=jQuery1_2&b"), Some("jQuery1_2"));
        assert_eq!(callback("CB=a.b.$c"), Some("a.b.$c"));
        for hostile in [
            "callback=alert(1)",
            "callback=a;b",
            "callback=",
            "callback=a..b",
            "callback=1a",
            "callback=%61",
            "callback=a'b",
            "cb=5829301",
            "callbacks=a",
            "",
        ] {
            assert_eq!(callback(hostile), None, "{hostile}");
        }
        assert_eq!(callback(&format!("cb={}", "a".repeat(CALLBACK_BYTES_MAX + 1))), None);
    }
}
