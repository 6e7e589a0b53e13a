//! The directives that nginx does in their order before anything else: `set`, `if`, `return`,
//! `rewrite`, `break`.

use super::NginxReader;
use super::conditions::IfVerdict;
use super::redirects::RewriteFate;
use super::scope::NginxScope;
use super::tree::NginxDirective;
use super::variables::{VariableTexts, bind_tested, filled, forget_numbers};
use import_routes::flow::{FlowStep, RouteEnd};
use import_routes::report::{LineFate, RowId};
use serde_json::json;

/// Which requests a location is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LocationKind {
    /// None of its own: what no location is for.
    Server,
    Exact,
    Prefix(String),
    Matching(String),
    Named,
}

/// The steps behind the directives.
#[derive(Clone, Debug)]
pub(super) enum FlowTail {
    /// The choice of a location.
    Locations,
    /// The answer of a location.
    Content(LocationKind),
}

/// Steps of all locations together: `if` doubles what follows.
const STEPS_MAX: usize = 20_000;
/// Directives in directives.
const DEPTH_MAX: usize = 64;
/// Variable under which a path is kept that answers where no file is.
pub(super) const FALLBACK: &str = "(fallback)";
/// Variable under which a rewrite of the path is kept.
pub(super) const REWRITE: &str = "(rewrite)";

impl<'r> NginxReader<'r> {
    pub(super) fn rewrite_steps(
        &mut self,
        rest: &[&'r NginxDirective],
        scope: &NginxScope<'r>,
        mut known: VariableTexts,
        tail: &FlowTail,
        depth: usize,
    ) -> Vec<FlowStep> {
        self.steps += 1;
        if self.steps > STEPS_MAX || depth > DEPTH_MAX {
            let row = rest.first().map_or(self.first_row, |it| it.row);
            return vec![Self::refused(row, "conditions double too often")];
        }
        let mut steps = Vec::new();
        for (index, directive) in rest.iter().enumerate() {
            let behind = &rest[index + 1..];
            match directive.name.as_str() {
                "set" => {
                    self.report.mark(directive.row, LineFate::Carried, "");
                    let name = directive.arg(0).trim_start_matches('$').to_owned();
                    let value = filled(directive.arg(1), &known);
                    known.insert(name, value);
                }
                "break" => {
                    self.report.mark(directive.row, LineFate::Carried, "");
                    // What follows is of other directives.
                    steps.extend(self.tail_steps(scope, &known, tail));
                    return steps;
                }
                "return" => {
                    steps.extend(self.returned(directive, &known, scope));
                    return steps;
                }
                "rewrite" => {
                    let made = self.rewrite(directive, &known, tail, scope);
                    match made {
                        RewriteFate::Steps(then) => steps.push(then),
                        RewriteFate::Known(more) => known.extend(more),
                        RewriteFate::Nothing => {}
                    }
                }
                "if" => {
                    let place = IfPlace { behind, scope, known: &known, tail, depth };
                    steps.extend(self.condition_steps(directive, &place));
                    return steps;
                }
                _ => {}
            }
        }
        steps.extend(self.tail_steps(scope, &known, tail));
        steps
    }

    fn tail_steps(
        &mut self,
        scope: &NginxScope<'r>,
        known: &VariableTexts,
        tail: &FlowTail,
    ) -> Vec<FlowStep> {
        match tail {
            FlowTail::Locations => {
                let block = self.server_block;
                // The cases of an `if` of the server hold for its locations.
                self.location_steps(&scope.clone(), block, known)
            }
            FlowTail::Content(kind) => self.content_steps(scope, known, kind),
        }
    }

    /// A step that closes, and says why.
    pub(super) fn refused(row: RowId, why: &str) -> FlowStep {
        FlowStep::End(RouteEnd::Refused(row, why.into()))
    }

    fn condition_steps(
        &mut self,
        directive: &'r NginxDirective,
        place: &IfPlace<'_, 'r>,
    ) -> Vec<FlowStep> {
        let names = self.server_names.clone();
        let valid = place.scope.last("valid_referers");
        let verdict = self.condition(directive, place.known, valid, &names);
        self.report.mark(directive.row, LineFate::Carried, "");
        if let Some(valid) = valid {
            self.report.mark(valid.row, LineFate::Carried, "");
        }
        match verdict {
            IfVerdict::Known(true) => self.branch(directive, place),
            IfVerdict::Known(false) => self.other(place),
            IfVerdict::Cases(cases, default) => {
                let mut known = place.known.clone();
                match cases.as_slice() {
                    [(when, true)] if is_match(directive) => bind_tested(&mut known, when),
                    _ if is_match(directive) => forget_numbers(&mut known),
                    _ => {}
                }
                let then = self.branch(directive, &IfPlace { known: &known, ..*place });
                let otherwise = self.other(place);
                let of = |verdict| if verdict { then.clone() } else { otherwise.clone() };
                let mut steps = of(default);
                for (when, verdict) in cases.into_iter().rev() {
                    steps = vec![FlowStep::If { when, then: of(verdict), otherwise: steps }];
                }
                steps
            }
            IfVerdict::Url(pattern) => self.url_steps(directive, &pattern, place),
            IfVerdict::Files { is_missing } => self.file_steps(directive, is_missing, place),
            IfVerdict::Unsayable(why) if closes(directive) => {
                vec![Self::refused(directive.row, why)]
            }
            IfVerdict::Unsayable(why) => {
                let why = format!("{why}: what stands in it is never done");
                self.report.mark(directive.row, LineFate::LeftOut, &why);
                self.other(place)
            }
        }
    }

    fn branch(&mut self, directive: &'r NginxDirective, place: &IfPlace<'_, 'r>) -> Vec<FlowStep> {
        let inside: Vec<&'r NginxDirective> =
            directive.inside().iter().chain(place.behind.iter().copied()).collect();
        let scope = place.scope.within(directive.inside());
        self.rewrite_steps(&inside, &scope, place.known.clone(), place.tail, place.depth + 1)
    }

    fn other(&mut self, place: &IfPlace<'_, 'r>) -> Vec<FlowStep> {
        let known = place.known.clone();
        self.rewrite_steps(place.behind, place.scope, known, place.tail, place.depth + 1)
    }

    /// A condition about the query: it can refuse, and nothing else.
    fn url_steps(
        &mut self,
        directive: &'r NginxDirective,
        pattern: &str,
        place: &IfPlace<'_, 'r>,
    ) -> Vec<FlowStep> {
        let ends = directive.inside().iter().find(|it| it.name == "return");
        let answer = ends.and_then(|it| match it.args.as_slice() {
            [status] => Some(status.as_str()),
            _ => None,
        });
        let answer = match answer {
            Some("444") => Some(json!("close")),
            Some("404") => Some(json!(404)),
            Some("410") => Some(json!(410)),
            Some("403" | "400" | "405" | "402" | "401" | "406" | "429" | "418") => Some(json!(403)),
            _ => None,
        };
        let mut steps = Vec::new();
        match answer {
            Some(answer) if self.blocks < BLOCKS_MAX => {
                self.blocks += 1;
                let why = "the pattern is held against the whole URL, as it is sent and decoded";
                self.report.mark(directive.row, LineFate::Changed, why);
                if let Some(ends) = ends {
                    self.report.mark(ends.row, LineFate::Carried, "");
                }
                steps.push(FlowStep::Block(json!({ "patterns": [pattern], "answer": answer })));
            }
            _ if closes(directive) => {
                return vec![Self::refused(directive.row, "routes do not ask for the whole query")];
            }
            _ => {
                let why = "routes do not ask for the whole query: what stands in it is never done";
                self.report.mark(directive.row, LineFate::LeftOut, why);
            }
        }
        steps.extend(self.other(place));
        steps
    }

    /// Where a file is missing, another answers: the fallback of a folder.
    fn file_steps(
        &mut self,
        directive: &'r NginxDirective,
        is_missing: bool,
        place: &IfPlace<'_, 'r>,
    ) -> Vec<FlowStep> {
        let target = directive.inside().iter().find(|it| it.name == "rewrite");
        if is_missing && let Some(rewrite) = target {
            let path = rewrite.arg(1).split('?').next().unwrap_or_default();
            let path = path.split("/$").next().unwrap_or_default();
            if path.starts_with('/') && !path.contains('$') {
                let why = "the fallback gets the query that was asked for";
                self.report.mark(rewrite.row, LineFate::Changed, why);
                let mut known = place.known.clone();
                known.insert(FALLBACK.into(), path.into());
                let (scope, tail) = (place.scope, place.tail);
                return self.rewrite_steps(place.behind, scope, known, tail, place.depth + 1);
            }
        }
        if is_missing && directive.inside().iter().any(|it| it.name == "proxy_pass") {
            let why = "every request goes on to the servers: files are not sought first";
            self.report.mark(directive.row, LineFate::Changed, why);
            return self.branch(directive, place);
        }
        let why = "routes do not look for files: what stands in it is never done";
        self.report.mark(directive.row, LineFate::LeftOut, why);
        self.other(place)
    }
}

/// URLs that are refused by patterns without a text of three bytes, at most: a gateway has 64.
const BLOCKS_MAX: usize = 60;

#[derive(Clone, Copy)]
struct IfPlace<'p, 'r> {
    behind: &'p [&'r NginxDirective],
    scope: &'p NginxScope<'r>,
    known: &'p VariableTexts,
    tail: &'p FlowTail,
    depth: usize,
}

/// True for a condition that holds an expression against something.
fn is_match(directive: &NginxDirective) -> bool {
    directive.args.iter().any(|it| matches!(it.as_str(), "~" | "~*" | "!~" | "!~*"))
}

/// True if a block refuses somebody: what asks for it must not be lost.
fn closes(directive: &NginxDirective) -> bool {
    directive.inside().iter().any(|it| match it.name.as_str() {
        "return" => it.arg(0).parse::<u16>().is_ok_and(|it| it >= 300),
        "rewrite" | "deny" | "allow" | "auth_basic" | "auth_request" | "set" | "internal" => true,
        name => name.contains("lua") || name.starts_with("auth_"),
    })
}
