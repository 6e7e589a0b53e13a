//! The bytes of null answers: the smallest ones that are valid.

/// A `GIF89a` of one transparent pixel, 43 bytes.
pub(crate) const BITMAP: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff\x21\xf9\x04\x01\0\0\0\0\
\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0\x3b";

/// An SVG of one transparent pixel.
pub(crate) const DRAWING: &[u8] =
    b"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"/>";

/// A page that shows nothing.
pub(crate) const FRAME: &[u8] = b"<!doctype html><title></title>";

/// A VAST response without an advertisement (IAB VAST 3.0 §2.2.1).
pub(crate) const VAST: &[u8] = b"<?xml version=\"1.0\"?><VAST version=\"3.0\"/>";

/// A VMAP response without a break (IAB VMAP 1.0 §2.3.1).
pub(crate) const VMAP: &[u8] = b"<?xml version=\"1.0\"?>\
<vmap:VMAP xmlns:vmap=\"http://www.iab.net/videosuite/vmap\" version=\"1.0\"/>";

/// `WebVTT` without a cue.
pub(crate) const CAPTIONS: &[u8] = b"WEBVTT\n";

/// An HLS playlist that has ended (RFC 8216 §4.3.3.4).
pub(crate) const PLAYLIST: &[u8] =
    b"#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXT-X-ENDLIST\n";

const SAMPLES_PER_SECOND: u32 = 8000;
const SAMPLES: usize = 800;
const WAV_HEAD_BYTES: usize = 44;

/// A tenth of a second of silence: a WAV of 8 bits mono. `<video>` plays it as it plays any sound.
pub(crate) static SOUND: [u8; WAV_HEAD_BYTES + SAMPLES] = silence();

const fn silence() -> [u8; WAV_HEAD_BYTES + SAMPLES] {
    // 128 is the middle, so silence, of unsigned samples.
    let mut wav = [128; WAV_HEAD_BYTES + SAMPLES];
    put(&mut wav, 0, b"RIFF");
    put(&mut wav, 4, &((WAV_HEAD_BYTES - 8 + SAMPLES) as u32).to_le_bytes());
    put(&mut wav, 8, b"WAVEfmt ");
    put(&mut wav, 16, &16_u32.to_le_bytes());
    // Plain PCM, one channel.
    put(&mut wav, 20, &1_u16.to_le_bytes());
    put(&mut wav, 22, &1_u16.to_le_bytes());
    put(&mut wav, 24, &SAMPLES_PER_SECOND.to_le_bytes());
    // Bytes a second, bytes a sample, bits a sample.
    put(&mut wav, 28, &SAMPLES_PER_SECOND.to_le_bytes());
    put(&mut wav, 32, &1_u16.to_le_bytes());
    put(&mut wav, 34, &8_u16.to_le_bytes());
    put(&mut wav, 36, b"data");
    put(&mut wav, 40, &(SAMPLES as u32).to_le_bytes());
    wav
}

const fn put(into: &mut [u8], at: usize, bytes: &[u8]) {
    let mut index = 0;
    while index < bytes.len() {
        into[at + index] = bytes[index];
        index += 1;
    }
}
