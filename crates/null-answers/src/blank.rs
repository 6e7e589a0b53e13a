//! Null answers by name: those of fixed bytes, stand-ins for scripts, and those that are protocol.
//!
//! It holds no bytes and makes no choice: `ready` and `stubs` have the former, `null` the latter.

use crate::stubs::Stub;

/// An answer of fixed bytes that does nothing, of the type that whoever asked can digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BlankBody {
    /// An empty page inside another, whose load event fires.
    Frame,
    /// In place of what a page embeds: a link that opens it in a tab of its own.
    ClickToLoad,
    /// An empty script.
    Script,
    /// A service worker that takes itself off.
    Worker,
    /// An empty style sheet.
    Style,
    /// A transparent bitmap of one pixel, as GIF.
    Bitmap,
    /// The same as PNG.
    Png,
    /// A transparent PNG of two pixels by two, for rules that name it; so the next two.
    Png2x2,
    /// Of three by two.
    Png3x2,
    /// Of 32 by 32.
    Png32x32,
    /// The same as ICO.
    Icon,
    /// Our sign, for a tab.
    Favicon,
    /// A transparent drawing.
    Svg,
    /// A font without a letter: the page falls back to one of its own at once.
    Font,
    /// A tenth of a second of silence.
    Audio,
    /// A second of black.
    Video,
    /// Captions that caption nothing.
    Captions,
    /// A stream that has ended.
    Playlist,
    /// `{}`
    Json,
    /// A video advertisement response without an advertisement, VAST 2.
    Vast2,
    /// The same, VAST 3.
    Vast3,
    /// The same, VAST 4.
    Vast4,
    /// A list of advertisement breaks without a break.
    Vmap,
    /// No bytes at all, as text.
    Text,
    /// 204: taken, and nothing to say.
    NoContent,
    /// A WebSocket that is not opened: its handshake is none.
    NoSocket,
    /// A method that has no meaning here.
    NoMethod,
}

impl BlankBody {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 27] = [
        Self::Frame,
        Self::ClickToLoad,
        Self::Script,
        Self::Worker,
        Self::Style,
        Self::Bitmap,
        Self::Png,
        Self::Png2x2,
        Self::Png3x2,
        Self::Png32x32,
        Self::Icon,
        Self::Favicon,
        Self::Svg,
        Self::Font,
        Self::Audio,
        Self::Video,
        Self::Captions,
        Self::Playlist,
        Self::Json,
        Self::Vast2,
        Self::Vast3,
        Self::Vast4,
        Self::Vmap,
        Self::Text,
        Self::NoContent,
        Self::NoSocket,
        Self::NoMethod,
    ];

    /// Returns its place in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns its name in metrics, where no other has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::ClickToLoad => "click_to_load",
            Self::Script => "script",
            Self::Worker => "service_worker",
            Self::Style => "style",
            Self::Bitmap => "gif",
            Self::Png => "png",
            Self::Png2x2 => "png_2x2",
            Self::Png3x2 => "png_3x2",
            Self::Png32x32 => "png_32x32",
            Self::Icon => "ico",
            Self::Favicon => "favicon",
            Self::Svg => "svg",
            Self::Font => "font",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Captions => "captions",
            Self::Playlist => "playlist",
            Self::Json => "json",
            Self::Vast2 => "vast2",
            Self::Vast3 => "vast3",
            Self::Vast4 => "vast4",
            Self::Vmap => "vmap",
            Self::Text => "empty",
            Self::NoContent => "no_content",
            Self::NoSocket => "websocket_refused",
            Self::NoMethod => "method_refused",
        }
    }
}

/// A null answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullAnswer<'r> {
    /// One of fixed bytes.
    Blank(BlankBody),
    /// A script that stands in for a well-known one.
    Stub(Stub),
    /// A script that calls this function with an empty object (JSONP).
    Callback(&'r str),
    /// A WebSocket that is opened and closed in order.
    Socket,
    /// The answer to a CORS preflight.
    Preflight,
}
