//! An address as a picture that the camera of a telephone reads (ISO/IEC 18004).

use fast_qr::QRBuilder;

/// Longest text of a picture, in bytes: more would not fit a terminal.
const TEXT_BYTES_MAX: usize = 128;

/// The picture of a text, in half blocks, a line each row; none of a text that is too long.
pub fn qr_code(text: &str) -> Option<String> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    Some(QRBuilder::new(text).build().ok()?.to_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_becomes_lines_of_one_width() {
        let picture = qr_code("http://192.168.1.20:8000").unwrap();
        let widths: Vec<usize> = picture.lines().map(|line| line.chars().count()).collect();
        assert!(widths.len() > 10 && widths.iter().all(|it| *it == widths[0]), "{picture}");
        assert!(qr_code(&"x".repeat(129)).is_none());
    }
}
