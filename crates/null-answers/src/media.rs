//! A silent sound and a black film, put together here byte by byte.
//!
//! Players wait for `ended` or `error`; an error shows, and some try again. These end by
//! themselves. Nothing is encoded at run time beyond writing out boxes. Built once, for `answer`.

/// Samples of MPEG-1 layer III come in frames of 1152; at 44.1 kHz four of them are a tenth of a
/// second.
const MP3_FRAMES: usize = 4;
/// 144 × 32,000 bit/s ÷ 44,100 Hz, rounded down (ISO 11172-3 §2.4.3.1).
const MP3_FRAME_BYTES: usize = 104;
/// Sync and MPEG-1 layer III without a checksum; 32 kbit/s at 44.1 kHz; one channel, original.
const MP3_FRAME_HEAD: [u8; 4] = [0xff, 0xfb, 0x10, 0xc4];

/// A tenth of a second of silence as MP3. Side information of zeros says that a frame has no data,
/// which is silence.
pub(crate) fn silent_mp3() -> Vec<u8> {
    let mut frame = [0; MP3_FRAME_BYTES];
    frame[..MP3_FRAME_HEAD.len()].copy_from_slice(&MP3_FRAME_HEAD);
    frame.repeat(MP3_FRAMES)
}

/// Length of the film, in thousandths of a second: so its one frame is shown.
const VIDEO_MS: u32 = 1000;
/// A macroblock: the least that H.264 can show.
const MACROBLOCK_PIXELS: u16 = 16;

/// Sequence parameters (ITU-T H.264 §7.3.2.1.1): baseline, level 1, one macroblock wide and high,
/// order of output as decoded, no reference frames.
const SPS: [u8; 6] = [0x67, 0x42, 0xc0, 0x0a, 0xdd, 0xe4];
/// Picture parameters (§7.3.2.2): CAVLC, all else zero.
const PPS: [u8; 4] = [0x68, 0xce, 0x38, 0x80];
/// An IDR slice of type I (§7.3.3) up to its macroblock, whose type is 25, samples as they are
/// (`I_PCM`), and the zero bits that align them.
const SLICE_HEAD: [u8; 5] = [0x65, 0x88, 0x84, 0x86, 0x80];
/// Black in studio range: 256 samples of brightness, then 128 of colour.
const LUMA_BLACK: u8 = 16;
const CHROMA_NONE: u8 = 128;

/// One second of black as MP4 (ISO 14496-12), its index in front of its frame.
pub(crate) fn black_mp4() -> Vec<u8> {
    let frame = frame();
    let kind = boxed(*b"ftyp", &[b"isom", &512_u32.to_be_bytes(), b"isomavc1"]);
    // The index holds the place of the frame behind it, and is as long whatever that is.
    let index_bytes = index(&frame, 0).len();
    let place = kind.len() + index_bytes + BOX_HEAD_BYTES;
    let index = index(&frame, place as u32);
    [kind, index, boxed(*b"mdat", &[&frame])].concat()
}

/// The frame as a sample: its one unit behind the unit's length.
fn frame() -> Vec<u8> {
    let (luma, chroma) = ([LUMA_BLACK; 256], [CHROMA_NONE; 128]);
    // The last bit set says that the slice ends.
    let unit = [&SLICE_HEAD[..], &luma, &chroma, &[0x80]].concat();
    [&(unit.len() as u32).to_be_bytes()[..], &unit].concat()
}

/// Bytes of a box before its content: length and type.
const BOX_HEAD_BYTES: usize = 8;

fn boxed(kind: [u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = (BOX_HEAD_BYTES + content.len()) as u32;
    [&length.to_be_bytes()[..], &kind, &content].concat()
}

/// A box of version 0 with these flags, its content in numbers.
fn listed(kind: [u8; 4], flags: u32, numbers: &[u32]) -> Vec<u8> {
    let content: Vec<u8> = numbers.iter().flat_map(|it| it.to_be_bytes()).collect();
    boxed(kind, &[&flags.to_be_bytes(), &content])
}

const FIXED_ONE: u32 = 0x0001_0000;
/// Neither turned nor scaled (§6.2.2).
const MATRIX: [u32; 9] = [FIXED_ONE, 0, 0, 0, FIXED_ONE, 0, 0, 0, 0x4000_0000];

/// `moov`: one track of one sample that lies at `place`.
fn index(frame: &[u8], place: u32) -> Vec<u8> {
    let [m0, m1, m2, m3, m4, m5, m6, m7, m8] = MATRIX;
    // Times of making, scale, length, speed, loudness, matrix, six words of no use, next track.
    let head = [
        0,
        0,
        1000,
        VIDEO_MS,
        FIXED_ONE,
        0x0100_0000,
        0,
        0,
        m0,
        m1,
        m2,
        m3,
        m4,
        m5,
        m6,
        m7,
        m8,
        0,
        0,
        0,
        0,
        0,
        0,
        2,
    ];
    let side = u32::from(MACROBLOCK_PIXELS) << 16;
    // Times, number, length, layer and loudness, matrix, width and height.
    let track = [0, 0, 1, 0, VIDEO_MS, 0, 0, 0, 0, m0, m1, m2, m3, m4, m5, m6, m7, m8, side, side];
    // 0x55c4 is `und`, no language.
    let media = listed(*b"mdhd", 0, &[0, 0, 1000, VIDEO_MS, 0x55c4_0000]);
    // Four words and an empty name.
    let handler = boxed(*b"hdlr", &[&[0; 8], b"vide", &[0; 13]]);
    // The data lie in this very file: flag 1.
    let here = listed(*b"url ", 1, &[]);
    let sources = boxed(*b"dref", &[&[0, 0, 0, 0, 0, 0, 0, 1], &here]);
    let information = boxed(
        *b"minf",
        &[&listed(*b"vmhd", 1, &[0, 0]), &boxed(*b"dinf", &[&sources]), &samples(frame, place)],
    );
    let media = boxed(*b"mdia", &[&media, &handler, &information]);
    // Flags 3: enabled, and part of the presentation.
    let track = boxed(*b"trak", &[&listed(*b"tkhd", 3, &track), &media]);
    boxed(*b"moov", &[&listed(*b"mvhd", 0, &head), &track])
}

/// `stbl`: what the sample is, how long it lasts, where it lies.
fn samples(frame: &[u8], place: u32) -> Vec<u8> {
    // Version 1, the profile's three bytes, lengths of four bytes, one set of each kind.
    let sets = [&[1, SPS[1], SPS[2], SPS[3], 0xff, 0xe1, 0, SPS.len() as u8][..], &SPS].concat();
    let sets = boxed(*b"avcC", &[&sets, &[1, 0, PPS.len() as u8], &PPS]);
    let mut visual = vec![0; 78];
    visual[7] = 1;
    visual[24..26].copy_from_slice(&MACROBLOCK_PIXELS.to_be_bytes());
    visual[26..28].copy_from_slice(&MACROBLOCK_PIXELS.to_be_bytes());
    // 72 dots an inch both ways, one frame a sample, 24 bits of colour, no table of them.
    visual[28..32].copy_from_slice(&0x0048_0000_u32.to_be_bytes());
    visual[32..36].copy_from_slice(&0x0048_0000_u32.to_be_bytes());
    visual[41] = 1;
    visual[75] = 24;
    visual[76..78].copy_from_slice(&[0xff, 0xff]);
    let entry = boxed(*b"avc1", &[&visual, &sets]);
    boxed(
        *b"stbl",
        &[
            &boxed(*b"stsd", &[&[0, 0, 0, 0, 0, 0, 0, 1], &entry]),
            &listed(*b"stts", 0, &[1, 1, VIDEO_MS]),
            &listed(*b"stsc", 0, &[1, 1, 1, 1]),
            &listed(*b"stsz", 0, &[frame.len() as u32, 1]),
            &listed(*b"stco", 0, &[1, place]),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_points_at_the_frame() {
        let film = black_mp4();
        let at = film.windows(4).position(|it| it == b"stco").unwrap() + 12;
        let place = u32::from_be_bytes(film[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(film[place..], frame());
        assert_eq!(&film[place - 4..place], b"mdat");
    }

    #[test]
    fn boxes_fill_the_file_to_its_last_byte() {
        let film = black_mp4();
        let (mut at, mut kinds) = (0, Vec::new());
        while at < film.len() {
            let length = u32::from_be_bytes(film[at..at + 4].try_into().unwrap()) as usize;
            kinds.push(film[at + 4..at + 8].to_vec());
            at += length;
        }
        assert_eq!(at, film.len());
        assert_eq!(kinds, [b"ftyp", b"moov", b"mdat"]);
    }

    #[test]
    fn a_sound_is_whole_frames() {
        let sound = silent_mp3();
        assert_eq!(sound.len(), MP3_FRAMES * MP3_FRAME_BYTES);
        assert!(sound.chunks(MP3_FRAME_BYTES).all(|frame| frame[..4] == MP3_FRAME_HEAD));
    }
}
