//! Palettes of GIF and PNG images, changed in place: Perlbal's plug-in Palimg.
//!
//! A [`PaletteChange`] is read from the last segment of a URL, `p` and a specification, and applied
//! to the first bytes of an image. Nothing is decoded: the palette stands near the beginning of
//! both formats, and an image has as many bytes as before. Images without one there are refused,
//! as are those that lie about its size. Called by the web door; it opens no file.

mod change;
mod image;

pub use change::PaletteChange;
pub use image::{NoPalette, PaletteImage};

/// Bytes at the beginning of an image in which its palette must stand whole.
pub const HEAD_BYTES: usize = 2048;

/// A colour of a palette.
pub(crate) type Colour = [u8; 3];
