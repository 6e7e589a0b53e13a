//! Any bytes as what a router's API says: sentences come out whole, however the bytes come in, and
//! what is written is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use routeros::{SentenceReader, write_sentence};

/// The sentences in `data`, taken in pieces of `piece` bytes, until it is no sentence any more.
fn sentences(data: &[u8], piece: usize) -> Vec<Vec<String>> {
    let (mut reader, mut all) = (SentenceReader::default(), Vec::new());
    for bytes in data.chunks(piece) {
        reader.push(bytes);
        loop {
            match reader.next_sentence() {
                Ok(Some(sentence)) => all.push(sentence),
                Ok(None) => break,
                Err(_) => return all,
            }
        }
    }
    all
}

fuzz_target!(|data: &[u8]| {
    let whole = sentences(data, data.len().max(1));
    assert_eq!(sentences(data, 1), whole);
    let mut written = Vec::new();
    for sentence in &whole {
        assert!(!sentence.is_empty() && sentence.len() <= 256);
        write_sentence(sentence.iter().map(String::as_str), &mut written);
    }
    assert_eq!(sentences(&written, 7), whole);
});
