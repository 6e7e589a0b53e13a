//! The rest that an expression still asks of a text after its first characters: Brzozowski's
//! derivative.
//!
//! Pure. Called by `path_test`, to cut an expression to a prefix without losing what overlaps.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

/// Nodes that are looked at for one prefix, at most: derivatives of some expressions grow.
const NODES_MAX: usize = 20_000;

/// Why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestError {
    /// The derivative grows too much.
    TooMuch,
    /// Boundaries of words or lines, or no expression at all.
    Unreadable,
}

/// An expression for what may follow `prefix` in a text that `expression` finds something in; none
/// where nothing may. It begins where the prefix ends, and ends with `$`.
pub(crate) fn rest_after(prefix: &str, expression: &str) -> Result<Option<String>, RestError> {
    let own = regex_syntax::parse(expression).map_err(|_| RestError::Unreadable)?;
    let any = regex_syntax::parse("(?s:.)*").map_err(|_| RestError::Unreadable)?;
    let mut cut = PrefixCut { nodes: 0 };
    let mut rest = cut.plain(&Hir::concat(vec![any.clone(), own, any]), 0)?;
    for character in prefix.chars() {
        rest = cut.derivative(&rest, character)?;
        // From here on no text begins.
        rest = cut.without_start(&rest)?;
    }
    if is_fail(&rest) {
        return Ok(None);
    }
    // No path has a line's end in it, so a dot is any character.
    let rest = rest.to_string();
    let rest = rest.replace("[\0-\u{10ffff}]", ".").replace("[\0-\t\u{b}-\u{10ffff}]", ".");
    Ok(Some(format!("(?:{rest})$")))
}

struct PrefixCut {
    nodes: usize,
}

impl PrefixCut {
    fn count(&mut self) -> Result<(), RestError> {
        self.nodes += 1;
        if self.nodes > NODES_MAX { Err(RestError::TooMuch) } else { Ok(()) }
    }

    /// The same without captures; bytes become characters.
    fn plain(&mut self, hir: &Hir, depth: usize) -> Result<Hir, RestError> {
        self.count()?;
        if depth > 100 {
            return Err(RestError::TooMuch);
        }
        if is_fail(hir) {
            return Ok(Hir::fail());
        }
        let mut each = |parts: &[Hir]| -> Result<Vec<Hir>, RestError> {
            parts.iter().map(|it| self.plain(it, depth + 1)).collect()
        };
        Ok(match hir.kind() {
            HirKind::Capture(capture) => self.plain(&capture.sub, depth + 1)?,
            HirKind::Concat(parts) => Hir::concat(each(parts)?),
            HirKind::Alternation(parts) => Hir::alternation(each(parts)?),
            HirKind::Repetition(repetition) => {
                let sub = self.plain(&repetition.sub, depth + 1)?;
                repeated(repetition, repetition.min, repetition.max, sub)
            }
            HirKind::Look(Look::Start | Look::End)
            | HirKind::Empty
            | HirKind::Class(Class::Unicode(_)) => hir.clone(),
            HirKind::Look(_) => return Err(RestError::Unreadable),
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(_) => hir.clone(),
                Err(_) => return Err(RestError::Unreadable),
            },
            HirKind::Class(Class::Bytes(class)) => match class.to_unicode_class() {
                Some(class) => Hir::class(Class::Unicode(class)),
                None => return Err(RestError::Unreadable),
            },
        })
    }

    /// The rest that must follow `character`.
    fn derivative(&mut self, hir: &Hir, character: char) -> Result<Hir, RestError> {
        self.count()?;
        if is_fail(hir) {
            return Ok(Hir::fail());
        }
        Ok(match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Hir::fail(),
            HirKind::Literal(literal) => {
                let mut bytes = [0; 4];
                let own = character.encode_utf8(&mut bytes).as_bytes();
                literal.0.strip_prefix(own).map_or_else(Hir::fail, Hir::literal)
            }
            HirKind::Class(Class::Unicode(class)) => {
                let has = class.iter().any(|it| it.start() <= character && character <= it.end());
                if has { Hir::empty() } else { Hir::fail() }
            }
            HirKind::Class(Class::Bytes(_)) => return Err(RestError::Unreadable),
            HirKind::Capture(capture) => self.derivative(&capture.sub, character)?,
            HirKind::Alternation(parts) => {
                let parts: Result<Vec<_>, _> =
                    parts.iter().map(|it| self.derivative(it, character)).collect();
                alternation(parts?)
            }
            HirKind::Concat(parts) => self.of_sequence(parts, character)?,
            HirKind::Repetition(repetition) => {
                if repetition.max == Some(0) {
                    return Ok(Hir::fail());
                }
                let first = self.derivative(&repetition.sub, character)?;
                let max = repetition.max.map(|it| it - 1);
                let rest = repeated(
                    repetition,
                    repetition.min.saturating_sub(1),
                    max,
                    (*repetition.sub).clone(),
                );
                sequence(vec![first, rest])
            }
        })
    }

    /// The first part that takes the character may stand behind others that take nothing.
    fn of_sequence(&mut self, parts: &[Hir], character: char) -> Result<Hir, RestError> {
        let mut ways = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let first = self.derivative(part, character)?;
            let mut way = vec![first];
            way.extend(parts[index + 1..].iter().cloned());
            ways.push(sequence(way));
            if !takes_nothing(part) {
                break;
            }
        }
        Ok(alternation(ways))
    }

    /// The same, where the text has begun already.
    fn without_start(&mut self, hir: &Hir) -> Result<Hir, RestError> {
        self.count()?;
        Ok(match hir.kind() {
            HirKind::Look(Look::Start) => Hir::fail(),
            HirKind::Alternation(parts) => {
                let parts: Result<Vec<_>, _> =
                    parts.iter().map(|it| self.without_start(it)).collect();
                alternation(parts?)
            }
            HirKind::Concat(parts) => {
                let parts: Result<Vec<_>, _> =
                    parts.iter().map(|it| self.without_start(it)).collect();
                sequence(parts?)
            }
            HirKind::Repetition(repetition) => {
                let sub = self.without_start(&repetition.sub)?;
                if is_fail(&sub) && repetition.min == 0 {
                    return Ok(Hir::empty());
                }
                if is_fail(&sub) {
                    return Ok(Hir::fail());
                }
                repeated(repetition, repetition.min, repetition.max, sub)
            }
            _ => hir.clone(),
        })
    }
}

/// True if a part may take no character at the beginning of a text, or in its midst.
fn takes_nothing(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(Look::Start) => true,
        // A character follows, so this is not the end.
        HirKind::Look(_) | HirKind::Literal(_) | HirKind::Class(_) => false,
        HirKind::Capture(capture) => takes_nothing(&capture.sub),
        HirKind::Alternation(parts) => parts.iter().any(takes_nothing),
        HirKind::Concat(parts) => parts.iter().all(takes_nothing),
        HirKind::Repetition(repetition) => repetition.min == 0 || takes_nothing(&repetition.sub),
    }
}

fn repeated(like: &Repetition, min: u32, max: Option<u32>, sub: Hir) -> Hir {
    Hir::repetition(Repetition { min, max, greedy: like.greedy, sub: Box::new(sub) })
}

fn is_fail(hir: &Hir) -> bool {
    matches!(hir.kind(), HirKind::Class(class) if class_is_empty(class))
}

fn class_is_empty(class: &Class) -> bool {
    match class {
        Class::Unicode(class) => class.ranges().is_empty(),
        Class::Bytes(class) => class.ranges().is_empty(),
    }
}

fn sequence(parts: Vec<Hir>) -> Hir {
    if parts.iter().any(is_fail) { Hir::fail() } else { Hir::concat(parts) }
}

/// Ways that differ: equal ones are one.
fn alternation(parts: Vec<Hir>) -> Hir {
    let mut ways: Vec<Hir> = Vec::new();
    for part in parts {
        if !is_fail(&part) && !ways.contains(&part) {
            ways.push(part);
        }
    }
    if ways.is_empty() { Hir::fail() } else { Hir::alternation(ways) }
}
