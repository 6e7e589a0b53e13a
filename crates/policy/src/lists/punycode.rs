//! Lines with letters outside ASCII, written as requests have them: names in punycode (RFC 3492),
//! what stands in paths percent-encoded.
//!
//! Letters become lower case and are not composed otherwise: lists hold what people type. Called by
//! `compile` for the few lines that need it.

use std::fmt::Write;

const BASE: u32 = 36;
const THRESHOLD_MIN: u32 = 1;
const THRESHOLD_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const BIAS_FIRST: u32 = 72;
const FIRST: u32 = 0x80;

/// The line in ASCII; none if a label cannot be written so.
pub(crate) fn ascii_line(line: &str) -> Option<String> {
    // Behind the first slash of a rule stands a path, until its options begin.
    let host_from = line.find("://").map_or(0, |at| at + 3);
    let path_from = line[host_from..].find('/').map_or(line.len(), |at| host_from + at);
    let path_to = line.rfind('$').filter(|at| *at > path_from).unwrap_or(line.len());
    let path_from = path_from.min(path_to);
    let mut ascii = in_labels(&line[..path_from])?;
    for letter in line[path_from..path_to].chars() {
        if letter.is_ascii() {
            ascii.push(letter);
        } else {
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                write!(ascii, "%{byte:02X}").ok()?;
            }
        }
    }
    ascii.push_str(&in_labels(&line[path_to..])?);
    Some(ascii)
}

/// Text with every label in punycode that needs it.
fn in_labels(text: &str) -> Option<String> {
    let is_label = |letter: char| letter.is_alphanumeric() || !letter.is_ascii() || letter == '-';
    let mut ascii = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter| is_label(letter) != is_label(first)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if run.is_ascii() {
            ascii.push_str(run);
        } else {
            ascii.push_str("xn--");
            encode(&run.to_lowercase(), &mut ascii)?;
        }
        rest = after;
    }
    Some(ascii)
}

/// Writes a label as RFC 3492 §6.3 has it.
fn encode(label: &str, out: &mut String) -> Option<()> {
    let basic = label.chars().filter(char::is_ascii);
    out.extend(basic.clone());
    let basic = basic.count() as u32;
    if basic > 0 {
        out.push('-');
    }
    let total = label.chars().count() as u32;
    let (mut code, mut delta, mut bias, mut handled) = (FIRST, 0u32, BIAS_FIRST, basic);
    while handled < total {
        let next = label.chars().map(u32::from).filter(|it| *it >= code).min()?;
        delta = delta.checked_add((next - code).checked_mul(handled + 1)?)?;
        code = next;
        for letter in label.chars().map(u32::from) {
            if letter < code {
                delta = delta.checked_add(1)?;
            }
            if letter == code {
                number(delta, bias, out)?;
                let damp = if handled == basic { DAMP } else { 2 };
                bias = adapt(delta / damp, handled + 1);
                delta = 0;
                handled += 1;
            }
        }
        delta = delta.checked_add(1)?;
        code += 1;
    }
    Some(())
}

/// Writes a number of variable length.
fn number(mut rest: u32, bias: u32, out: &mut String) -> Option<()> {
    let mut place = BASE;
    loop {
        let threshold = place.saturating_sub(bias).clamp(THRESHOLD_MIN, THRESHOLD_MAX);
        if rest < threshold {
            out.push(digit(rest)?);
            return Some(());
        }
        out.push(digit(threshold + (rest - threshold) % (BASE - threshold))?);
        rest = (rest - threshold) / (BASE - threshold);
        place += BASE;
    }
}

/// `a` to `z`, then `0` to `9`.
fn digit(number: u32) -> Option<char> {
    const DIGITS: &[u8; BASE as usize] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    DIGITS.get(number as usize).map(|digit| char::from(*digit))
}

/// The bias for the next number: `delta` is damped already.
fn adapt(mut delta: u32, points: u32) -> u32 {
    delta += delta / points;
    let mut steps = 0;
    while delta > (BASE - THRESHOLD_MIN) * THRESHOLD_MAX / 2 {
        delta /= BASE - THRESHOLD_MIN;
        steps += BASE;
    }
    steps + (BASE - THRESHOLD_MIN + 1) * delta / (delta + SKEW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_punycode_and_paths_percent_encoded() {
        let check = |line, expected| assert_eq!(ascii_line(line).as_deref(), Some(expected));
        check("||b\u{fc}cher.example^", "||xn--bcher-kva.example^");
        check("||\u{411}\u{430}\u{43d}\u{43a}.\u{440}\u{444}^", "||xn--80ab2al.xn--p1ai^");
        // RFC 3492 §7.1 (A) and (K).
        check(
            "\u{644}\u{64a}\u{647}\u{645}\u{627}\u{628}\u{62a}\u{643}\u{644}\u{645}\u{648}\u{634}\u{639}\u{631}\u{628}\u{64a}\u{61f}",
            "xn--egbpdaj6bu4bxfgehfvwxn",
        );
        check(
            "t\u{1ea1}isaoh\u{1ecd}kh\u{f4}ngth\u{1ec3}ch\u{1ec9}n\u{f3}iti\u{1ebf}ngvi\u{1ec7}t",
            "xn--tisaohkhngthchnitingvit-kjcr8268qyxafd2f1b9g",
        );
        check(
            "||a.example/\u{fc}$domain=\u{fc}.example",
            "||a.example/%C3%BC$domain=xn--tda.example",
        );
        check("https://\u{fc}.example/x", "https://xn--tda.example/x");
    }
}
