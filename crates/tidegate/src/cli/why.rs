//! `tidegate why`: the verdict and its reasoning, as the running process gives them, or as the
//! configuration would.
//!
//! One question from the command line, or many from standard input.

mod lines;

use super::answered_from::{AnsweredFrom, PolicyAnswers, PolicySource};
use super::{CommandFailure, CommandSetup, ExitReason, WhyArgs};
use crate::app;
use admin::{WhyQuestion, question};
use admin_api::{WhyAnswer, WhyQuery};
use config::Plan;
use control_client::{AnswerForm, RunningTidegate, print_fleet_why};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use policy::Policy;
use serde::Serialize;
use std::fmt::Write as _;
use terminal_text::{TextStream, TextStyle, painted};
use transport::clock;

/// Source of answers, ready to be asked.
enum WhySource {
    Running(Box<RunningTidegate>),
    File(Box<Plan>, Box<Policy>),
}

/// An answer with its origin, as JSON.
#[derive(Serialize)]
struct WhyJson<'t> {
    #[serde(flatten)]
    why: &'t WhyAnswer,
    answered_from: &'t AnsweredFrom,
}

/// Explains what the policy says.
pub(super) fn why(setup: &CommandSetup, args: &WhyArgs) -> Result<(), CommandFailure> {
    let target = args.target.as_deref().unwrap_or("-");
    if target == "-" && args.fleet {
        let message = "--fleet asks about one name or URL";
        return Err(CommandFailure::new(ExitReason::Wrong, message));
    }
    if target == "-" {
        let (mut answerer, from) = WhySource::of(setup, args)?;
        return lines::answer(&mut answerer, &from, args);
    }
    let question = read(args, target)?;
    let (mut answerer, from) = WhySource::of(setup, args)?;
    if args.fleet {
        let form = if args.json { AnswerForm::Json } else { AnswerForm::Lines };
        return answerer.ask_fleet(&question, &from, form);
    }
    let why = answerer.answer(&question)?;
    if args.json {
        let told = WhyJson { why: &why, answered_from: &from };
        let json = serde_json::to_string_pretty(&told);
        println!("{}", json.map_err(|error| CommandFailure::new(ExitReason::Fault, error))?);
    } else {
        print!("{}", describe(&why, &from));
    }
    Ok(())
}

/// Question about a target, with the options of the command line.
fn read(args: &WhyArgs, target: &str) -> Result<WhyQuestion, CommandFailure> {
    let query = WhyQuery {
        target: target.to_owned(),
        client: Some(args.client.to_string()),
        kind: args.kind.clone(),
        door: args.door.clone(),
        page: args.page.clone(),
    };
    question::read(&query).map_err(|wrong| CommandFailure::new(ExitReason::Wrong, wrong))
}

impl WhySource {
    fn of(setup: &CommandSetup, args: &WhyArgs) -> Result<(Self, AnsweredFrom), CommandFailure> {
        let wanted = if args.offline { PolicySource::File } else { PolicySource::RunningFirst };
        match PolicyAnswers::of(setup, wanted)? {
            PolicyAnswers::Running(running, from) => Ok((Self::Running(running), from)),
            PolicyAnswers::File(plan, state, from) => {
                let policy = app::policy_of(&plan, &state, None)?;
                Ok((Self::File(plan, Box::new(policy)), from))
            }
        }
    }

    fn answer(&mut self, question: &WhyQuestion) -> Result<WhyAnswer, CommandFailure> {
        match self {
            Self::Running(running) => running.get(&format!("/api/why?{}", words_of(question))),
            Self::File(plan, policy) => Ok(app::why::why(policy, plan, question, clock::now())),
        }
    }

    /// Asks all machines of the fleet through the running process.
    fn ask_fleet(
        &mut self,
        question: &WhyQuestion,
        from: &AnsweredFrom,
        form: AnswerForm,
    ) -> Result<(), CommandFailure> {
        match self {
            Self::Running(running) => print_fleet_why(running, &words_of(question), form),
            Self::File(..) => {
                let message = format!("the fleet is asked by a Tidegate that runs: {}", from.text);
                Err(CommandFailure::new(ExitReason::NotStarted, message))
            }
        }
    }
}

/// A question in the words of the API.
fn words_of(question: &WhyQuestion) -> String {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let target = question.url.as_deref().map_or_else(|| encoded(question.host.as_str()), encoded);
    // The root of DNS is written as a dot.
    let target = if target.is_empty() { ".".into() } else { target };
    let WhyQuestion { client, kind, door, page, .. } = question;
    let mut path =
        format!("target={target}&client={}&kind={kind}&door={door}", encoded(&client.to_string()));
    if let Some(page) = page {
        // A text grows in memory and cannot fail.
        let _ = write!(path, "&page={page}");
    }
    path
}

fn describe(why: &WhyAnswer, from: &AnsweredFrom) -> String {
    let style = if why.summary.starts_with("blocked") { TextStyle::Bad } else { TextStyle::Good };
    let mut lines = vec![
        painted(TextStream::Out, style, &why.summary).into_owned(),
        format!("  target   {} ({})", why.target, why.kind),
        format!("  client   {} (profile {})", why.client, why.profile),
    ];
    lines.extend(why.page.as_ref().map(|page| format!("  page     {page}")));
    lines.push(format!("  door     {}: {}", why.door, why.door_outcome));
    lines.extend(why.list_changed_at.as_ref().map(|at| format!("  list     unchanged since {at}")));
    lines.extend(why.stored.iter().map(|variant| format!("  stored   {variant}")));
    let mut others = why.matches.iter().filter(|found| !found.decides).peekable();
    if others.peek().is_some() {
        lines.push("  also matched:".into());
    }
    lines.extend(others.map(|found| {
        let rule = &found.rule;
        format!("    {} (list {:?}, line {}) {}", rule.text, rule.list, rule.line, found.note)
    }));
    lines.push(format!("  asked    {}", from.text));
    lines.join("\n") + "\n"
}
