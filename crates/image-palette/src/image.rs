//! Where the palette of an image stands: the global table of a GIF, the chunk `PLTE` of a PNG.

use crate::HEAD_BYTES;
use crate::change::PaletteChange;
use std::fmt;

/// Formats of images that have a palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaletteImage {
    /// GIF.
    Gif,
    /// PNG.
    Png,
}

/// Reasons why an image has no palette to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPalette {
    /// Another format than its name says.
    Format,
    /// Colours without a palette.
    Colours,
    /// The palette does not stand whole among the first bytes, or is longer than the image.
    Place,
}

/// Offset of the colour table of a GIF (`GIF89a` §18).
const GIF_TABLE: usize = 13;
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Colour type of a PNG with a palette (PNG §11.2.1).
const PNG_INDEXED: u8 = 3;
/// Bytes of the signature and of the chunk `IHDR`.
const PNG_CHUNKS: usize = 8 + 25;

impl PaletteImage {
    /// The format that the ending of a file's name says.
    pub fn of_name(name: &str) -> Option<Self> {
        let (stem, ending) = name.rsplit_once('.')?;
        match ending {
            _ if stem.is_empty() => None,
            "gif" => Some(Self::Gif),
            "png" => Some(Self::Png),
            _ => None,
        }
    }

    /// Changes the palette of `image`, which keeps its length. Untouched where it fails.
    pub fn recolour(self, image: &mut [u8], change: &PaletteChange) -> Result<(), NoPalette> {
        let head = image.len().min(HEAD_BYTES);
        let head = &mut image[..head];
        match self {
            Self::Gif => gif(head, change),
            Self::Png => png(head, change),
        }
    }
}

fn gif(head: &mut [u8], change: &PaletteChange) -> Result<(), NoPalette> {
    if !head.starts_with(b"GIF8") {
        return Err(NoPalette::Format);
    }
    let flags = *head.get(10).ok_or(NoPalette::Place)?;
    if flags & 0x80 == 0 {
        return Err(NoPalette::Colours);
    }
    let colours = 2 << (flags & 7);
    let table = head.get_mut(GIF_TABLE..GIF_TABLE + 3 * colours).ok_or(NoPalette::Place)?;
    change.apply(table);
    Ok(())
}

fn png(head: &mut [u8], change: &PaletteChange) -> Result<(), NoPalette> {
    if !head.starts_with(PNG_SIGNATURE) || head.get(12..16) != Some(b"IHDR") {
        return Err(NoPalette::Format);
    }
    if *head.get(25).ok_or(NoPalette::Place)? != PNG_INDEXED {
        return Err(NoPalette::Colours);
    }
    let mut at = PNG_CHUNKS;
    loop {
        let start = head.get(at..at + 8).ok_or(NoPalette::Place)?;
        let (len, kind) = start.split_at(4);
        let len = u32::from_be_bytes([len[0], len[1], len[2], len[3]]);
        let end = usize::try_from(len).ok().and_then(|len| len.checked_add(at + 8));
        let end = end.filter(|end| end + 4 <= head.len()).ok_or(NoPalette::Place)?;
        if kind == b"PLTE" {
            if !len.is_multiple_of(3) {
                return Err(NoPalette::Colours);
            }
            change.apply(&mut head[at + 8..end]);
            let sum = crc32fast::hash(&head[at + 4..end]);
            head[end..end + 4].copy_from_slice(&sum.to_be_bytes());
            return Ok(());
        }
        at = end + 4;
    }
}

impl fmt::Display for NoPalette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => "the file is no image of its name's format",
            Self::Colours => "the image has no palette",
            Self::Place => "the palette is not among the image's first bytes",
        })
    }
}

impl std::error::Error for NoPalette {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn change() -> PaletteChange {
        PaletteChange::parse("p0010203").unwrap()
    }

    fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
        let summed = [kind, data].concat();
        let sum = crc32fast::hash(&summed).to_be_bytes();
        [&(data.len() as u32).to_be_bytes()[..], &summed, &sum].concat()
    }

    fn png_of(colour_type: u8, chunks: &[Vec<u8>]) -> Vec<u8> {
        let header = chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, colour_type, 0, 0, 0]);
        [PNG_SIGNATURE.to_vec(), header, chunks.concat()].concat()
    }

    #[test]
    fn a_gif_has_its_table_at_byte_thirteen() {
        let mut image = [b"GIF89a\x01\0\x01\0\x80\0\0".to_vec(), vec![9; 6], vec![0x3b]].concat();
        PaletteImage::Gif.recolour(&mut image, &change()).unwrap();
        assert_eq!(image[13..], [1, 2, 3, 9, 9, 9, 0x3b]);
        // It says that it has 256 colours.
        image[10] = 0x87;
        let before = image.clone();
        assert_eq!(PaletteImage::Gif.recolour(&mut image, &change()), Err(NoPalette::Place));
        image[10] = 0;
        assert_eq!(PaletteImage::Gif.recolour(&mut image, &change()), Err(NoPalette::Colours));
        image[10] = before[10];
        assert_eq!(image, before);
        assert_eq!(PaletteImage::Png.recolour(&mut image, &change()), Err(NoPalette::Format));
        assert_eq!(
            PaletteImage::Gif.recolour(&mut b"GIF89a".to_vec(), &change()),
            Err(NoPalette::Place)
        );
    }

    #[test]
    fn a_png_has_a_new_sum_and_keeps_what_stands_before() {
        let gamma = chunk(b"gAMA", &[0, 1, 2, 3]);
        let rest = chunk(b"IEND", &[]);
        let mut image = png_of(3, &[gamma.clone(), chunk(b"PLTE", &[9; 6]), rest.clone()]);
        PaletteImage::Png.recolour(&mut image, &change()).unwrap();
        assert_eq!(image, png_of(3, &[gamma, chunk(b"PLTE", &[1, 2, 3, 9, 9, 9]), rest]));
    }

    #[test]
    fn a_png_that_lies_is_refused_untouched() {
        let far = chunk(b"tEXt", &[b'x'; HEAD_BYTES]);
        for (image, why) in [
            (png_of(2, &[chunk(b"PLTE", &[9; 6])]), NoPalette::Colours),
            (png_of(3, &[chunk(b"PLTE", &[9; 5])]), NoPalette::Colours),
            (png_of(3, &[far, chunk(b"PLTE", &[9; 6])]), NoPalette::Place),
            (png_of(3, &[b"\xff\xff\xff\xffPLTE".to_vec()]), NoPalette::Place),
            (png_of(3, &[b"\0\0\0\x06PLTE\x01\x02".to_vec()]), NoPalette::Place),
            (png_of(3, &[]), NoPalette::Place),
            (b"GIF89a".to_vec(), NoPalette::Format),
        ] {
            let mut changed = image.clone();
            assert_eq!(PaletteImage::Png.recolour(&mut changed, &change()), Err(why));
            assert_eq!(changed, image);
        }
    }

    #[test]
    fn a_name_says_the_format() {
        assert_eq!(PaletteImage::of_name("a.gif"), Some(PaletteImage::Gif));
        assert_eq!(PaletteImage::of_name("a.b.png"), Some(PaletteImage::Png));
        for name in ["a.GIF", ".gif", "gif", "a.jpg"] {
            assert_eq!(PaletteImage::of_name(name), None, "{name}");
        }
    }
}
