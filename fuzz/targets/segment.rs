//! Any bytes as a segment of the disk tier, with their checksums made to fit, as nobody but us
//! could: what is found lies within it, in order, and is found again when a footer lists it.
#![no_main]

use disk_store::{
    ChecksumSalt, HEADER_BYTES, KeySeed, OPENING_BYTES, RECORD_ALIGN, RecordHeader, SegmentEnding,
    SegmentOffset, opening, scan_segment,
};
use libfuzzer_sys::fuzz_target;

const SEGMENT: u64 = 1;
const TAIL_BYTES: usize = 64;
const TRAILER_BYTES: usize = 16;

fuzz_target!(|data: &[u8]| {
    let salt = ChecksumSalt::of(&KeySeed([0; 16]));
    let mut bytes = opening(salt, SEGMENT).to_vec();
    bytes.extend(data);
    for at in (OPENING_BYTES as usize..bytes.len()).step_by(RECORD_ALIGN as usize) {
        mend_record(&mut bytes, at, salt);
    }
    mend_footer(&mut bytes, salt);
    let len = bytes.len() as u64;
    let found = scan_segment(&bytes[..], len, SEGMENT, salt).expect("it has its opening");
    let mut before = OPENING_BYTES;
    for entry in &found.entries {
        assert!(entry.at >= before && entry.at % RECORD_ALIGN == 0, "{entry:?} behind {before}");
        before = entry.at + entry.len;
    }
    assert!(before <= found.end && found.end <= len.next_multiple_of(RECORD_ALIGN));
    bytes.resize(found.end as usize, 0);
    bytes.extend(found.footer(salt, SEGMENT));
    let again = scan_segment(&bytes[..], bytes.len() as u64, SEGMENT, salt).expect("it is the same");
    assert_eq!((again.entries, again.ending), (found.entries, SegmentEnding::Sealed));
});

/// Makes the sums of a record at `at` fit, if there is room for one.
fn mend_record(bytes: &mut [u8], at: usize, salt: ChecksumSalt) {
    let spot = SegmentOffset { segment: SEGMENT, at: at as u64 };
    let Some(header) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<HEADER_BYTES>())
    else {
        return;
    };
    let sum = salt.checksum(spot, &header[8..92]);
    header[92..].copy_from_slice(&sum.to_le_bytes());
    let Some(header) = RecordHeader::decode(salt, spot, header) else { return };
    let layout = header.layout(spot.at);
    let from = layout.trailer_at as usize;
    let Some(trailer) = bytes.get_mut(from..from + layout.trailer_len as usize) else { return };
    let own = trailer.len() - TRAILER_BYTES;
    trailer[own..own + 8].copy_from_slice(&header.sequence.to_le_bytes());
    let sum = salt.checksum(spot, &trailer[..own + 12]);
    trailer[own + 12..].copy_from_slice(&sum.to_le_bytes());
}

/// Makes the sums of a footer fit, if the last bytes can be one.
fn mend_footer(bytes: &mut [u8], salt: ChecksumSalt) {
    let at = bytes.len() - TAIL_BYTES;
    if at < OPENING_BYTES as usize {
        return;
    }
    let end = u64::from_le_bytes(bytes[at + 16..at + 24].try_into().expect("eight bytes"));
    let entries = usize::try_from(end).ok().and_then(|end| bytes.get(end..at));
    if let Some(entries) = entries {
        let sum = salt.checksum(SegmentOffset { segment: SEGMENT, at: end }, entries);
        bytes[at + 56..at + 60].copy_from_slice(&sum.to_le_bytes());
    }
    bytes[at + 8..at + 16].copy_from_slice(&SEGMENT.to_le_bytes());
    let sum = salt.checksum(SegmentOffset { segment: SEGMENT, at: at as u64 }, &bytes[at..at + 60]);
    bytes[at + 60..].copy_from_slice(&sum.to_le_bytes());
}
