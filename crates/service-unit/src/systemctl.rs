//! `systemctl`, the only way in which this crate talks to systemd.

use crate::error::ServiceError;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// Runs the one at `program`, and returns what it prints.
pub(crate) fn run(program: &Path, args: &[&str]) -> Result<String, ServiceError> {
    let command = format!("systemctl {}", args.join(" "));
    run_program(Command::new(program).args(args), command)
}

/// Runs a program, and returns what it prints.
pub(crate) fn run_program(program: &mut Command, name: String) -> Result<String, ServiceError> {
    let outcome = match program.output() {
        Ok(outcome) => outcome,
        Err(why) if why.kind() == ErrorKind::NotFound && name.starts_with("systemctl") => {
            return Err(ServiceError::NoSystemd);
        }
        Err(why) => return Err(ServiceError::Program(name, why.to_string())),
    };
    if outcome.status.success() {
        return Ok(String::from_utf8_lossy(&outcome.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&outcome.stderr);
    let said = said.trim();
    let said = if said.is_empty() { outcome.status.to_string() } else { said.replace('\n', "; ") };
    Err(ServiceError::Program(name, said))
}
