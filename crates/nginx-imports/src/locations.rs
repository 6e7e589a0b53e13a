//! Which location answers a request: nginx's own precedence, as steps that are tried in order.
//!
//! Exact paths first; then the longest prefix, which decides at once behind `^~`; else the
//! expressions in their order, those within the prefix before the server's; else the prefix.

use super::NginxReader;
use super::rewrites::{FlowTail, LocationKind};
use super::scope::NginxScope;
use super::tree::NginxDirective;
use super::variables::{VariableTexts, bind_groups};
use import_routes::flow::{FlowStep, RouteEnd};
use import_routes::path_test::PathTest;
use import_routes::place::RequestTest;
use import_routes::redirects::GroupSubject;
use import_routes::regex_words::{LetterCase, ReadExpression, read};
use import_routes::report::LineFate;

/// A location, and what it stands in.
#[derive(Clone)]
struct FoundLocation<'a> {
    directive: &'a NginxDirective,
    scope: NginxScope<'a>,
    kind: FoundKind,
    /// Expressions of the blocks around it, the innermost first.
    expressions: Vec<FoundLocation<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum FoundKind {
    Exact(String),
    Prefix {
        path: String,
        is_final: bool,
        has_own: bool,
    },
    /// The expression, and whether it is only wider.
    Matching {
        expression: String,
        is_wider: bool,
    },
}

/// Levels of locations in locations.
const DEPTH_MAX: usize = 8;

impl<'r> NginxReader<'r> {
    /// The steps that choose a location of a server, and do what it says.
    pub(super) fn location_steps(
        &mut self,
        scope: &NginxScope<'r>,
        block: &'r [NginxDirective],
        known: &VariableTexts,
    ) -> Vec<FlowStep> {
        let mut found = Vec::new();
        let unreadable = self.collect(scope, block, &[], 0, &mut found);
        if let Some((row, why)) = unreadable {
            // Nobody knows which requests it is for: all of the server might be.
            return vec![FlowStep::End(RouteEnd::Refused(row, why.into()))];
        }
        let mut steps = Vec::new();
        for it in &found {
            if let FoundKind::Exact(path) = &it.kind {
                let test = RequestTest::Path(PathTest::Exact(path.clone()));
                let kind = LocationKind::Exact;
                steps.push(FlowStep::when(test, self.inside(it, kind, known)));
            }
        }
        let mut prefixes: Vec<&FoundLocation<'r>> =
            found.iter().filter(|it| matches!(it.kind, FoundKind::Prefix { .. })).collect();
        prefixes.sort_by_key(|it| std::cmp::Reverse(prefix_of(it).0.len()));
        let eager: Vec<&str> = prefixes
            .iter()
            .map(|it| prefix_of(it))
            .filter(|(_, is_final, has_own)| *is_final || *has_own)
            .map(|(path, _, _)| path)
            .collect();
        let is_eager = |path: &str| eager.iter().any(|it| path.starts_with(it));
        for it in prefixes.iter().filter(|it| is_eager(prefix_of(it).0)) {
            steps.push(self.prefix_step(it, Some(&it.expressions), known));
        }
        for it in &found {
            if matches!(it.kind, FoundKind::Matching { .. }) && it.expressions.is_empty() {
                steps.push(self.expression_step(it, known));
            }
        }
        for it in prefixes.iter().filter(|it| !is_eager(prefix_of(it).0)) {
            steps.push(self.prefix_step(it, None, known));
        }
        let tail = FlowTail::Content(LocationKind::Server);
        steps.extend(self.rewrite_steps(&[], scope, known.clone(), &tail, 0));
        steps
    }

    /// Finds all locations of a block and of those within; a row that says nothing to us.
    fn collect(
        &mut self,
        scope: &NginxScope<'r>,
        block: &'r [NginxDirective],
        around: &[FoundLocation<'r>],
        depth: usize,
        found: &mut Vec<FoundLocation<'r>>,
    ) -> Option<(import_routes::report::RowId, &'static str)> {
        let mut expressions = Vec::new();
        if let Some(wrong) = self.read_level(scope, block, &mut expressions, found) {
            return Some(wrong);
        }
        let all: Vec<FoundLocation<'r>> = expressions.iter().chain(around).cloned().collect();
        // Those of this block are sought within the prefixes of this block.
        let own: Vec<FoundLocation<'r>> = found.clone();
        for location in found.iter_mut().filter(|it| it.expressions.is_empty()) {
            location.expressions.clone_from(&all);
        }
        for location in own {
            if depth >= DEPTH_MAX {
                return Some((location.directive.row, "locations stand too deep in others"));
            }
            let inside = location.directive.inside();
            if !inside.iter().any(|it| it.name == "location") {
                continue;
            }
            let mut deeper = Vec::new();
            let wrong = self.collect(&location.scope, inside, &all, depth + 1, &mut deeper);
            if wrong.is_some() {
                return wrong;
            }
            let (nested, more): (Vec<_>, Vec<_>) =
                deeper.into_iter().partition(|it| matches!(it.kind, FoundKind::Matching { .. }));
            for it in found.iter_mut().filter(|it| same(it.directive, location.directive)) {
                it.expressions = nested.iter().chain(&all).cloned().collect();
            }
            found.extend(more);
        }
        for location in &expressions {
            if let Some(inner) = location.directive.inside().iter().find(|it| it.name == "location")
            {
                return Some((inner.row, "a location within one of an expression is not read"));
            }
        }
        found.extend(expressions);
        None
    }

    /// The locations of one block: those of expressions, and the others.
    fn read_level(
        &mut self,
        scope: &NginxScope<'r>,
        block: &'r [NginxDirective],
        expressions: &mut Vec<FoundLocation<'r>>,
        found: &mut Vec<FoundLocation<'r>>,
    ) -> Option<(import_routes::report::RowId, &'static str)> {
        for directive in block.iter().filter(|it| it.name == "location") {
            let scope = scope.location(directive.inside());
            let (sign, text) = match directive.args.as_slice() {
                [text] => split_sign(text),
                [sign, text] => (sign.as_str(), text.as_str()),
                _ => return Some((directive.row, "this is no location")),
            };
            if text.starts_with('@') && sign.is_empty() {
                continue;
            }
            self.report.mark(directive.row, LineFate::Carried, "");
            let kind = match sign {
                "=" => FoundKind::Exact(text.into()),
                "" | "^~" => {
                    let nested = directive.inside().iter();
                    let has_own = nested
                        .clone()
                        .any(|it| it.name == "location" && it.arg(0).starts_with('~'));
                    FoundKind::Prefix { path: text.into(), is_final: sign == "^~", has_own }
                }
                _ => match self.expression_kind(directive, sign, text) {
                    Some(kind) => kind,
                    None => return Some((directive.row, "the expression cannot be read")),
                },
            };
            if !text.starts_with('/')
                && matches!(kind, FoundKind::Exact(_) | FoundKind::Prefix { .. })
            {
                let why = "no path begins so";
                self.report.mark(directive.row, LineFate::LeftOut, why);
                continue;
            }
            let location = FoundLocation { directive, scope, kind, expressions: Vec::new() };
            match location.kind {
                FoundKind::Matching { .. } => expressions.push(location),
                FoundKind::Exact(_) | FoundKind::Prefix { .. } => found.push(location),
            }
        }
        None
    }

    fn expression_kind(
        &mut self,
        directive: &NginxDirective,
        sign: &str,
        text: &str,
    ) -> Option<FoundKind> {
        let case = match sign {
            "~" => LetterCase::Counts,
            "~*" => LetterCase::Ignored,
            _ => return None,
        };
        match read(text, case) {
            ReadExpression::Same(expression) => {
                Some(FoundKind::Matching { expression, is_wider: false })
            }
            ReadExpression::Wider(expression) => {
                self.report.mark(directive.row, LineFate::Carried, "");
                Some(FoundKind::Matching { expression, is_wider: true })
            }
            ReadExpression::Unreadable => None,
        }
    }

    fn prefix_step(
        &mut self,
        it: &FoundLocation<'r>,
        expressions: Option<&[FoundLocation<'r>]>,
        known: &VariableTexts,
    ) -> FlowStep {
        let (path, is_final, _) = prefix_of(it);
        let mut inner = Vec::new();
        if !is_final {
            for expression in expressions.unwrap_or_default() {
                inner.push(self.expression_step(expression, known));
            }
        }
        let kind = LocationKind::Prefix(path.to_owned());
        inner.extend(self.inside(it, kind, known));
        FlowStep::when(RequestTest::Path(PathTest::Prefix(path.to_owned())), inner)
    }

    fn expression_step(&mut self, it: &FoundLocation<'r>, known: &VariableTexts) -> FlowStep {
        let FoundKind::Matching { expression, is_wider } = &it.kind else {
            return FlowStep::answer(403);
        };
        let inner = if *is_wider {
            let why = "the expression looks around, which routes cannot";
            vec![FlowStep::End(RouteEnd::Refused(it.directive.row, why.into()))]
        } else {
            self.inside(it, LocationKind::Matching(expression.clone()), known)
        };
        FlowStep::when(RequestTest::Path(PathTest::Matching(expression.clone())), inner)
    }

    fn inside(
        &mut self,
        it: &FoundLocation<'r>,
        kind: LocationKind,
        known: &VariableTexts,
    ) -> Vec<FlowStep> {
        let rest: Vec<&'r NginxDirective> = it.directive.inside().iter().collect();
        let mut known = known.clone();
        if let LocationKind::Matching(expression) = &kind {
            bind_groups(&mut known, GroupSubject::Path, expression);
        }
        self.rewrite_steps(&rest, &it.scope, known, &FlowTail::Content(kind), 0)
    }
}

fn same(one: &NginxDirective, two: &NginxDirective) -> bool {
    std::ptr::eq(one, two)
}

fn prefix_of<'l>(location: &'l FoundLocation<'_>) -> (&'l str, bool, bool) {
    match &location.kind {
        FoundKind::Prefix { path, is_final, has_own } => (path, *is_final, *has_own),
        FoundKind::Exact(text) | FoundKind::Matching { expression: text, .. } => {
            (text, false, false)
        }
    }
}

/// A sign may stand against its path: `=/a`.
fn split_sign(text: &str) -> (&str, &str) {
    for sign in ["^~", "~*", "~", "="] {
        if let Some(rest) = text.strip_prefix(sign) {
            return (sign, rest);
        }
    }
    ("", text)
}
