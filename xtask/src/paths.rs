//! Paths that a source names: its `use` items, the paths in its code, the names that it defines.
//!
//! Tokens are enough: a `use` tree is taken apart into its leaves, every other `a::b` is one path.
//! Called by [`crate::circles`].

use std::collections::BTreeSet;

/// Keywords with a name behind them.
const DEFINING: [&str; 9] =
    ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];

/// One leaf of a `use` tree.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UseLeaf<'s> {
    pub(crate) path: Vec<&'s str>,
    /// What it is called here; `*` for everything.
    pub(crate) name: &'s str,
    pub(crate) visibility: Visibility,
}

/// A name brought in for this file alone, or shown to others too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    Private,
    Shown,
}

/// The paths of one source.
#[derive(Default)]
pub(crate) struct NamedPaths<'s> {
    pub(crate) defined: BTreeSet<&'s str>,
    pub(crate) uses: Vec<UseLeaf<'s>>,
    /// Paths outside `use`, of two names or more.
    pub(crate) paths: Vec<Vec<&'s str>>,
    /// Every word outside `use`.
    pub(crate) words: BTreeSet<&'s str>,
}

impl<'s> NamedPaths<'s> {
    /// Reads the code of a source.
    pub(crate) fn read(code: &'s str) -> Self {
        let tokens = tokens(code);
        let mut found = Self::default();
        let mut at = 0;
        while at < tokens.len() {
            // `impl Trait + use<'a>` is no import.
            if tokens[at] == "use" && tokens.get(at + 1) != Some(&"<") {
                let end = at + position(&tokens[at..], ";");
                let before = tokens[..at].last().copied();
                let visibility = match before {
                    Some("pub" | ")") => Visibility::Shown,
                    _ => Visibility::Private,
                };
                leaves(&tokens[at + 1..end], &[], visibility, &mut found.uses);
                at = end;
            } else {
                at += found.take(&tokens, at);
            }
        }
        found
    }

    /// Takes what begins at a token, and returns how many tokens it has.
    fn take(&mut self, tokens: &[&'s str], at: usize) -> usize {
        let word = tokens[at];
        if !is_word(word) {
            return 1;
        }
        self.words.insert(word);
        if DEFINING.contains(&word) {
            let mut behind = tokens[at + 1..].iter().filter(|it| !matches!(**it, "mut" | "!"));
            let name = behind.next().filter(|name| is_word(name) && !DEFINING.contains(name));
            self.defined.extend(name);
        }
        let goes_on = at > 0 && tokens[at - 1] == "::";
        let is_name = |token: Option<&&'s str>| token.is_some_and(|token| is_word(token));
        let mut path = vec![word];
        while tokens.get(at + 2 * path.len() - 1) == Some(&"::")
            && is_name(tokens.get(at + 2 * path.len()))
        {
            path.push(tokens[at + 2 * path.len()]);
        }
        let length = 2 * path.len() - 1;
        self.words.extend(&path);
        if path.len() > 1 && !goes_on {
            self.paths.push(path);
        }
        length
    }
}

/// The leaves of a `use` tree below `above`.
fn leaves<'s>(
    tree: &[&'s str],
    above: &[&'s str],
    visibility: Visibility,
    found: &mut Vec<UseLeaf<'s>>,
) {
    let open = position(tree, "{");
    let named = |tokens: &[&'s str]| {
        let names = tokens.iter().filter(|token| **token != "::");
        above.iter().chain(names).copied().collect::<Vec<_>>()
    };
    if open < tree.len() {
        let close = tree.iter().rposition(|token| *token == "}").unwrap_or(tree.len());
        let above = named(&tree[..open]);
        let (mut depth, mut begun) = (0, open + 1);
        for at in open + 1..close {
            match tree[at] {
                "{" => depth += 1,
                "}" => depth -= 1,
                "," if depth == 0 => {
                    leaves(&tree[begun..at], &above, visibility, found);
                    begun = at + 1;
                }
                _ => {}
            }
        }
        leaves(&tree[begun..close], &above, visibility, found);
        return;
    }
    let renamed = position(tree, "as");
    if tree.is_empty() {
        return;
    }
    let mut path = named(&tree[..renamed]);
    if path.len() > 1 && path.last() == Some(&"self") {
        path.pop();
    }
    if let Some(name) = tree.get(renamed + 1).or(path.last()).copied() {
        found.push(UseLeaf { path, name, visibility });
    }
}

/// Where a token is, or the length of the tokens.
fn position(tokens: &[&str], token: &str) -> usize {
    tokens.iter().position(|it| *it == token).unwrap_or(tokens.len())
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, `::` and single characters.
fn tokens(code: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_part(first) {
            rest.find(|c| !is_part(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, behind) = rest.split_at(length);
        found.push(token);
        rest = behind.trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_tree_has_leaves_with_names() {
        let code = "use a::{self, b::{C as D, e}, f::*};\npub(crate) use super::g;\n";
        let found = NamedPaths::read(code).uses;
        let told: Vec<_> =
            found.iter().map(|leaf| format!("{} {}", leaf.path.join("::"), leaf.name)).collect();
        assert_eq!(told, ["a a", "a::b::C D", "a::b::e e", "a::f::* *", "super::g g"]);
        assert_eq!(found[0].visibility, Visibility::Private);
        assert_eq!(found[4].visibility, Visibility::Shown);
    }

    #[test]
    fn paths_in_code_are_found_whole() {
        let code = "fn f<T>(a: super::A) -> b::C<T> { <T as D>::e::g(); Vec::<u8>::new(); b :: h }";
        let found = NamedPaths::read(code);
        assert_eq!(found.paths, [vec!["super", "A"], vec!["b", "C"], vec!["b", "h"]]);
        assert!(found.words.contains("D") && found.words.contains("new"));
    }

    #[test]
    fn names_are_defined_behind_their_keyword() {
        let code = "static mut A: u8 = 0; macro_rules! b { () => {} } const fn c() {} struct D;";
        let found = NamedPaths::read(code);
        let defined: Vec<_> = found.defined.into_iter().collect();
        assert_eq!(defined, ["A", "D", "b", "c"]);
    }
}
