//! What Polipo forbids, or does not cache, as rules of a list of ours.
//!
//! A line of its file is a domain, with all below it, unless it has a `/`, `*` or `\`; then it is
//! an expression that is looked for in the URL. Source: Polipo's manual, "Forbidden".

/// Rules that are written into a configuration, at most; whoever has more has a list.
const RULES_MAX: usize = 10_000;

/// Rules, and lines that are none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ForbiddenRules {
    pub(super) rules: Vec<String>,
    /// Lines, from 1, that are no name, cannot be used, or stand beyond those that are taken.
    pub(super) left_out: Vec<usize>,
}

/// The rules of a file of Polipo's, as far as they are taken.
pub(super) fn read(text: &str, is_taken: impl Fn(&String) -> bool) -> ForbiddenRules {
    let mut forbidden = ForbiddenRules::default();
    // A `#` ends a line wherever it stands.
    let lines = text.lines().map(|it| it.split('#').next().unwrap_or_default().trim());
    for (number, line) in (1..).zip(lines).filter(|(_, line)| !line.is_empty()) {
        let has_room = forbidden.rules.len() < RULES_MAX;
        match rule(line).filter(|rule| has_room && is_taken(rule)) {
            Some(rule) => forbidden.rules.push(rule),
            None => forbidden.left_out.push(number),
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
        assert_eq!(read(text, |_| true).rules, expected);
        assert_eq!(read(text, |rule| !rule.starts_with('/')).left_out, [5, 6]);
        assert_eq!(read("a b\n\n\u{e9}.example\n", |_| true).left_out, [1, 3]);
        let many = "a.example\n".repeat(RULES_MAX + 3);
        let found = read(&many, |_| true);
        assert_eq!((found.rules.len(), found.left_out.len()), (RULES_MAX, 3));
    }
}
