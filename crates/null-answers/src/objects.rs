//! The bytes of null answers: the smallest ones that are valid.
//!
//! Films and sounds are made in `media`. It chooses nothing and knows no request. Read by `answer`.

/// A `GIF89a` of one transparent pixel, 43 bytes.
pub(crate) const BITMAP: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff\x21\xf9\x04\x01\0\0\0\0\
\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0\x3b";

/// A PNG of one transparent pixel in grey with alpha, 68 bytes: `IHDR`, an `IDAT` of the filter
/// byte and two zeros (deflated), `IEND`.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x04\0\0\0\
\xb5\x1c\x0c\x02\0\0\0\x0bIDATx\xdac``\0\0\0\x03\0\x01\x2b\x09\x4d\x84\0\0\0\0IEND\xaeB`\x82";

/// The same of two pixels by two, black of one bit declared transparent (`tRNS`), 83 bytes; so the
/// next two.
pub(crate) const PNG_2X2: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x01\0\0\0\0\
\x5a\xcd0\x89\0\0\0\x02tRNS\0\0v\x93\xcd8\0\0\0\x0cIDATx\x01c```\0\0\0\x04\0\x01\xe4\x94\x84\x06\
\0\0\0\0IEND\xaeB`\x82";

/// Three pixels by two.
pub(crate) const PNG_3X2: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x03\0\0\0\x02\x01\0\0\0\0\
\xb5\x0f\x5b\xb7\0\0\0\x02tRNS\0\0v\x93\xcd8\0\0\0\x0cIDATx\x01c```\0\0\0\x04\0\x01\xe4\x94\x84\x06\
\0\0\0\0IEND\xaeB`\x82";

/// 32 pixels by 32.
pub(crate) const PNG_32X32: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x20\0\0\0\x20\x01\0\0\0\0\
\x5b\x01GY\0\0\0\x02tRNS\0\0v\x93\xcd8\0\0\0\x0cIDATx\x01c`\x18\xdcc\0\0\0\xa0\0\x01\xa2\x85\xdeK\
\0\0\0\0IEND\xaeB`\x82";

/// An ICO of one transparent pixel: directory, a bitmap head of twice the height (colours, then the
/// mask), the pixel, the mask.
pub(crate) const ICON: &[u8] = b"\0\0\x01\0\x01\0\
\x01\x01\0\0\x01\0\x20\0\x30\0\0\0\x16\0\0\0\
\x28\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\x20\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
\0\0\0\0\0\0\0\x80";

/// Our sign in 16 and 32 pixels, for tabs that show a page of ours.
pub(crate) const FAVICON: &[u8] = include_bytes!("favicon.ico");

/// An SVG of one transparent pixel.
pub(crate) const SVG: &[u8] =
    b"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"/>";

/// A WOFF2 font without a character: every letter falls back at once, and nothing stands in the
/// console. Made with `FontBuilder` of fontTools: a `.notdef` of one triangle (browsers refuse an
/// empty `glyf`), and a `cmap` that maps U+10FFFD, which is no character, to it.
pub(crate) const FONT: &[u8] = include_bytes!("empty.woff2");

/// A page that shows nothing.
pub(crate) const FRAME: &[u8] = b"<!doctype html><title></title>";

/// A page in place of what another embeds (a film, a post): a link to the same address in a tab of
/// its own, where the page for people says why, and how to let it through. No script, so none can
/// be abused.
pub(crate) const CLICK_TO_LOAD: &[u8] = include_bytes!("click_to_load.html");

/// A service worker that takes itself off: one that stayed would outlast the block.
pub(crate) const WORKER: &[u8] = b"addEventListener('install',()=>skipWaiting());\
addEventListener('activate',()=>registration.unregister());";

/// VAST responses without an advertisement, of versions 2, 3 and 4 (IAB VAST 2.0 §2.1, 3.0 §2.2.1,
/// 4.2 §3.1).
pub(crate) const VAST: [&[u8]; 3] = [
    b"<?xml version=\"1.0\"?><VAST version=\"2.0\"/>",
    b"<?xml version=\"1.0\"?><VAST version=\"3.0\"/>",
    b"<?xml version=\"1.0\"?><VAST version=\"4.2\" xmlns=\"http://www.iab.com/VAST\"/>",
];

/// A VMAP response without a break (IAB VMAP 1.0 §2.3.1).
pub(crate) const VMAP: &[u8] = b"<?xml version=\"1.0\"?>\
<vmap:VMAP xmlns:vmap=\"http://www.iab.net/videosuite/vmap\" version=\"1.0\"/>";

/// `WebVTT` without a cue.
pub(crate) const CAPTIONS: &[u8] = b"WEBVTT\n";

/// An HLS playlist that has ended (RFC 8216 §4.3.3.4).
pub(crate) const PLAYLIST: &[u8] =
    b"#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXT-X-ENDLIST\n";
