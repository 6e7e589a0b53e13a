//! Any image under any change of its palette: it keeps its length, its bytes where it is refused,
//! and what lies behind the first bytes.
#![no_main]

use image_palette::{HEAD_BYTES, PaletteChange, PaletteImage};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|byte| *byte == 0) else { return };
    let Ok(segment) = std::str::from_utf8(&data[..end]) else { return };
    let Some(change) = PaletteChange::parse(segment) else { return };
    let image = &data[end + 1..];
    for format in [PaletteImage::Gif, PaletteImage::Png] {
        let mut changed = image.to_vec();
        let outcome = format.recolour(&mut changed, &change);
        let head = image.len().min(HEAD_BYTES);
        assert_eq!(changed.len(), image.len());
        assert_eq!(changed[head..], image[head..]);
        if outcome.is_err() {
            assert_eq!(changed, image);
        }
    }
});
