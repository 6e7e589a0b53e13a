//! `tidegate why --fleet`: what every machine of the fleet says, a line each.

use crate::running::RunningTidegate;
use command_output::{CommandFailure, ExitReason};
use fleet_api::{FleetReply, FleetWhy, MachineVerdict};

/// Form in which an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// Lines for people.
    Lines,
    /// JSON.
    Json,
}

/// Asks all machines, by the path and words of a question to one, and prints their verdicts. Fails
/// in the end if none of them answered.
pub fn print_fleet_why(
    running: &mut RunningTidegate,
    words: &str,
    form: AnswerForm,
) -> Result<(), CommandFailure> {
    let all: FleetWhy = running.get(&format!("/api/fleet/why?{words}"))?;
    if form == AnswerForm::Json {
        let json = serde_json::to_string_pretty(&all);
        println!("{}", json.expect("numbers and text have a form in JSON"));
    } else {
        let width = name_width(all.machines.iter().map(|it| &it.reply));
        for machine in &all.machines {
            println!("{:<width$}  {}", plain(&machine.reply.edge), line(machine));
        }
    }
    if all.machines.iter().any(|it| it.verdict.is_some()) {
        return Ok(());
    }
    Err(CommandFailure::new(ExitReason::Fault, "no machine of the fleet has answered"))
}

/// Width of the column of names.
pub(crate) fn name_width<'m>(machines: impl Iterator<Item = &'m FleetReply>) -> usize {
    machines.map(|it| it.edge.chars().count()).max().unwrap_or(0)
}

/// The reason why a machine said nothing.
pub(crate) fn silence(reply: &FleetReply) -> String {
    format!("no answer: {}", plain(reply.reason.as_deref().unwrap_or(&reply.state)))
}

/// Text of another machine, for a terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).collect()
}

fn line(machine: &MachineVerdict) -> String {
    let Some(verdict) = &machine.verdict else { return silence(&machine.reply) };
    let revision = machine.reply.revision.map_or_else(String::new, |it| format!(", revision {it}"));
    format!("{} (profile {}{revision})", plain(&verdict.summary), plain(&verdict.profile))
}
