//! What Polipo forbids, as rules of a list of ours.
//!
//! A line of its file is a domain, with all below it, unless it has a `/`, `*` or `\`; then it is an
//! expression that is looked for in the URL. Source: Polipo's manual, "Forbidden".

/// Rules that are written into a configuration, at most; whoever has more has a list.
const RULES_MAX: usize = 10_000;

/// Rules, and lines that are none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Forbidden {
    pub(super) rules: Vec<String>,
    /// Beyond those that are taken, or no name.
    pub(super) left_out: usize,
}

/// The rules of a file of Polipo's.
pub(super) fn read(text: &str) -> Forbidden {
    let mut forbidden = Forbidden::default();
    // A `#` ends a line wherever it stands.
    let lines = text.lines().map(|it| it.split('#').next().unwrap_or_default().trim());
    for line in lines.filter(|it| !it.is_empty()) {
        match rule(line).filter(|_| forbidden.rules.len() < RULES_MAX) {
            Some(rule) => forbidden.rules.push(rule),
            None => forbidden.left_out += 1,
        }
    }
    forbidden
}

fn rule(line: &str) -> Option<String> {
    if line.contains(['/', '*', '\\']) {
        return Some(format!("/{line}/"));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name = line.trim_matches('.');
    (!name.is_empty() && name.chars().all(is_name)).then(|| format!("||{name}^"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_and_expressions_are_told_apart_as_polipo_does() {
        let text =
            "# sample\ncounter.com # c\n\n .hitbox.com \n/ads/ # x\n^http://[^/]*counter\\.com\n";
        let expected =
            ["||counter.com^", "||hitbox.com^", "//ads//", "/^http://[^/]*counter\\.com/"];
        assert_eq!(read(text).rules, expected);
        assert_eq!(read("a b\n\u{e9}.example\n").left_out, 2);
        let many = "a.example\n".repeat(RULES_MAX + 3);
        assert_eq!((read(&many).rules.len(), read(&many).left_out), (RULES_MAX, 3));
    }
}
