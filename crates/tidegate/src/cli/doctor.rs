//! `tidegate doctor`: what of this machine stands in the way, as `diagnosis` finds it.

use super::{CommandFailure, CommandSetup, ExitReason};
use clap::Args;
use diagnosis::{DiagnosisSubject, FindingSeverity, MachineFinding, MachineFolders};
use terminal_text::{TextStream, TextStyle, WaitSign, painted};

/// Holds how findings are told.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON, what is fine included
    #[arg(long)]
    json: bool,
    /// Tell what is fine, too
    #[arg(long, short)]
    verbose: bool,
}

/// Looks, and fails where something stands in the way.
pub(super) fn doctor(setup: &CommandSetup, args: &DoctorArgs) -> Result<(), CommandFailure> {
    let plan = setup.plan()?;
    let source = plan.source.clone();
    let state = setup.state_dir(&plan);
    let machine = MachineFolders::default();
    let sign = WaitSign::new("looks at this machine");
    let found = diagnosis::examine(DiagnosisSubject { plan, state, machine })
        .map_err(|why| CommandFailure::new(ExitReason::Fault, why))?;
    drop(sign);
    let obstacles = found.iter().filter(|it| it.severity == FindingSeverity::Obstacle).count();
    if args.json {
        let json = serde_json::to_string_pretty(&found);
        println!("{}", json.map_err(|why| CommandFailure::new(ExitReason::Fault, why))?);
    } else {
        let told = found.iter().filter(|it| args.verbose || it.severity > FindingSeverity::Fine);
        told.for_each(print);
        let fine = found.iter().filter(|it| it.severity == FindingSeverity::Fine).count();
        println!("{fine} of {} checks are fine, configuration {}", found.len(), source.display());
    }
    match obstacles {
        0 => Ok(()),
        1 => Err(CommandFailure::new(ExitReason::Wrong, "one thing stands in the way")),
        many => {
            Err(CommandFailure::new(ExitReason::Wrong, format!("{many} things stand in the way")))
        }
    }
}

fn print(finding: &MachineFinding) {
    let (style, weight) = match finding.severity {
        FindingSeverity::Fine => (TextStyle::Good, "fine     "),
        FindingSeverity::Note => (TextStyle::Quiet, "note     "),
        FindingSeverity::Warning => (TextStyle::Warning, "warning  "),
        FindingSeverity::Obstacle => (TextStyle::Bad, "obstacle "),
    };
    println!("{} {}", painted(TextStream::Out, style, weight), finding.what);
    if let Some(remedy) = &finding.remedy {
        println!("          remedy: {remedy}");
    }
}
