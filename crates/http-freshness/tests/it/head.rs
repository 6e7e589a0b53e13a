//! Heads as bytes: what is written is read, and anything else is told apart.

use crate::scene::{DATE, NOW, fields};
use http::StatusCode;
use http::header::HeaderValue;
use http_freshness::{FIELDS_MAX, HEAD_BYTES_MAX, StoredHead, TooLarge, UnreadableHead};

fn head(pairs: &[(&str, &str)]) -> StoredHead {
    StoredHead {
        status: StatusCode::OK,
        fields: fields(pairs),
        selecting: fields(&[("accept-encoding", "br, gzip"), ("x-mine", "1")]),
        requested_ms: NOW * 1000 - 250,
        received_ms: NOW * 1000,
    }
}

fn usual() -> StoredHead {
    head(&[
        ("date", DATE),
        ("cache-control", "max-age=60"),
        ("x-own", "ü"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("empty", ""),
    ])
}

#[test]
fn what_is_written_is_read() {
    for it in [usual(), head(&[])] {
        assert_eq!(StoredHead::decode(&it.encode().unwrap()), Ok(it));
    }
    let bytes = usual().encode().unwrap();
    assert!(bytes.len() < 130, "{} bytes for a small head", bytes.len());
}

#[test]
fn a_head_cut_anywhere_is_no_head() {
    let bytes = usual().encode().unwrap();
    for end in 0..bytes.len() {
        assert!(StoredHead::decode(&bytes[..end]).is_err(), "cut at {end}");
    }
    let longer = [&bytes[..], b"x"].concat();
    assert_eq!(StoredHead::decode(&longer), Err(UnreadableHead::Longer));
}

#[test]
fn a_flipped_bit_is_an_error_or_another_head_and_never_a_panic() {
    let bytes = usual().encode().unwrap();
    for place in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[place / 8] ^= 1 << (place % 8);
        let _ = StoredHead::decode(&flipped);
    }
    assert_eq!(StoredHead::decode(&[9]), Err(UnreadableHead::Format(9)));
    assert_eq!(
        StoredHead::decode(&[1, 0, 0, 0, 0, 0, 0]),
        Err(UnreadableHead::Malformed),
        "status 0"
    );
    let endless = [&[1, 200, 0][..], &[0xFF; 11]].concat();
    assert_eq!(
        StoredHead::decode(&endless),
        Err(UnreadableHead::Malformed),
        "a number without end"
    );
    let many = [1, 200, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
    assert_eq!(StoredHead::decode(&many), Err(UnreadableHead::TooLarge), "a count that lies");
}

#[test]
fn a_head_beyond_its_caps_is_refused() {
    let mut large = head(&[]);
    large.fields.append("x", HeaderValue::from_bytes(&vec![b'x'; HEAD_BYTES_MAX]).unwrap());
    assert_eq!(large.encode(), Err(TooLarge::Bytes));
    let mut many = head(&[]);
    for _ in 0..FIELDS_MAX {
        many.fields.append("x", HeaderValue::from_static("1"));
    }
    assert_eq!(many.encode(), Err(TooLarge::Fields));
    assert_eq!(StoredHead::decode(&vec![1; HEAD_BYTES_MAX + 1]), Err(UnreadableHead::TooLarge));
}

#[test]
fn last_modified_is_stood_in_for_by_date_and_by_receipt() {
    let at = |pairs: &[(&str, &str)]| head(pairs).modified_unix_secs();
    let modified = ("last-modified", "Sun, 06 Nov 1994 08:00:00 GMT");
    assert_eq!(at(&[modified, ("date", DATE)]), NOW - 2977);
    assert_eq!(at(&[("date", "Sun, 06 Nov 1994 08:49:00 GMT")]), NOW - 37);
    assert_eq!(at(&[("date", "foo")]), NOW);
}
