//! Names that devices give themselves, made fit to be shown: whoever is on the network says what
//! he likes.

/// Characters of a name that are kept.
const NAME_CHARS_MAX: usize = 63;

/// A name without what is no part of one; none if nothing is left. The ending `.local` says where
/// it was heard, and is left out.
pub(crate) fn clean_name(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('.');
    let text = text.strip_suffix(".local").unwrap_or(text);
    let is_fit = |char: &char| char.is_alphanumeric() || "-_. '’()&,".contains(*char);
    let kept: String = text.chars().filter(is_fit).take(NAME_CHARS_MAX).collect();
    let kept = kept.trim();
    kept.chars().any(char::is_alphanumeric).then(|| kept.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_become_harmless() {
        let long = "x".repeat(500);
        for (name, cleaned) in [
            ("annas-ipad", Some("annas-ipad")),
            ("annas-ipad.local.", Some("annas-ipad")),
            ("nas.home.arpa", Some("nas.home.arpa")),
            ("<script>alert(1)</script>", Some("scriptalert(1)script")),
            ("a\u{202e}b\u{7}\n\u{200f}c", Some("abc")),
            ("\u{1b}[31mred", Some("31mred")),
            ("Küche", Some("Küche")),
            ("*", None),
            ("-", None),
            ("  ", None),
            ("\u{0}\u{202e}", None),
        ] {
            assert_eq!(clean_name(name).as_deref(), cleaned, "{name:?}");
        }
        assert_eq!(clean_name(&long).unwrap().len(), NAME_CHARS_MAX);
    }
}
