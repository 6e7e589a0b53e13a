//! Sizes and times of nginx, in our words.

use std::time::Duration;

/// A size in bytes: `8k`, `1m`, `2g`.
pub(super) fn size(text: &str) -> Option<u64> {
    let (digits, factor) = match text.to_ascii_lowercase().chars().last()? {
        'k' => (&text[..text.len() - 1], 1_u64 << 10),
        'm' => (&text[..text.len() - 1], 1 << 20),
        'g' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// A time: `30`, `30s`, `1m30s`, `500ms`.
pub(super) fn time(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let count: u64 = rest[..end].parse().ok()?;
        let behind = &rest[end..];
        let unit_end = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let unit = behind[..unit_end].trim();
        let millis = match unit {
            "ms" => 1,
            "" | "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            "M" => 2_592_000_000,
            "y" => 31_536_000_000_u64,
            _ => return None,
        };
        total = total.checked_add(Duration::from_millis(count.checked_mul(millis)?))?;
        rest = &behind[unit_end..];
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read() {
        assert_eq!(
            (size("8k"), size("1M"), size("7"), size("x")),
            (Some(8192), Some(1 << 20), Some(7), None)
        );
        assert_eq!(time("1m30s"), Some(Duration::from_secs(90)));
        assert_eq!(time("500ms"), Some(Duration::from_millis(500)));
        assert_eq!((time("60"), time("x")), (Some(Duration::from_mins(1)), None));
    }
}
