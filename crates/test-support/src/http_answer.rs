//! An HTTP/1 answer, taken apart.

use std::collections::HashMap;
use std::io::Read;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 64 << 10;

/// One HTTP answer.
#[derive(Debug)]
pub struct HttpAnswer {
    /// Status code.
    pub status: u16,
    /// Header fields, with names in lower case.
    pub fields: HashMap<String, String>,
    /// Body, as it came.
    pub body: Vec<u8>,
}

impl HttpAnswer {
    /// Reads one answer to a GET.
    pub fn read(stream: &mut impl Read) -> Self {
        Self::read_to("GET", stream)
    }

    /// Reads one answer to a request that begins so. To a HEAD, and with 304, none has a body
    /// whatever its length says.
    pub fn read_to(request: &str, stream: &mut impl Read) -> Self {
        let mut bytes = Vec::new();
        let mut more = |bytes: &mut Vec<u8>| {
            let mut piece = vec![0; PIECE_BYTES];
            let count = stream.read(&mut piece).unwrap();
            assert_ne!(count, 0, "cut off: {}", String::from_utf8_lossy(bytes));
            bytes.extend_from_slice(&piece[..count]);
        };
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
                break end;
            }
            more(&mut bytes);
        };
        let mut answer = Self::head(&bytes[..end]);
        let length = answer.field("content-length").parse().unwrap_or(0);
        let has_body = !request.starts_with("HEAD") && answer.status != 304;
        while has_body && bytes.len() < end + 4 + length {
            more(&mut bytes);
        }
        answer.body = bytes.split_off(end + 4);
        answer
    }

    /// Reads one answer that ends with its connection, as one to HTTP/1.0 does.
    pub fn read_to_end(stream: &mut impl Read) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
        let mut answer = Self::head(&bytes[..end]);
        answer.body = bytes.split_off(end + 4);
        answer
    }

    fn head(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let mut lines = text.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let fields = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        Self { status, fields, body: Vec::new() }
    }

    /// A field, or nothing.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
