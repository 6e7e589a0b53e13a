//! `tidegate script test`: a script's fixtures, run as a door would call its hooks.

use command_output::{CommandFailure, ExitReason};
use config::FileComplaint;
use scripting::{LuauScript, LuauSettings, ScriptFixtures, ScriptLog};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// Runs the fixtures that lie beside a script: those of `hello.luau` are in `hello.test.yaml`.
///
/// # Errors
/// [`CommandFailure`] names the fixtures that fail.
pub fn test(file: &Path) -> Result<(), CommandFailure> {
    let script = open(file)?;
    let fixtures_file = file.with_extension("test.yaml");
    let text = std::fs::read_to_string(&fixtures_file).map_err(|why| {
        let place = fixtures_file.display();
        wrong(&format_args!(
            "{place}: {why}; write the fixtures there, as the manual's page on scripts shows"
        ))
    })?;
    let fixtures: ScriptFixtures = config::read_data(&text, &fixtures_file)
        .map_err(|found: Vec<FileComplaint>| CommandFailure::complaints(&found))?;
    let mut failed = 0;
    for case in &fixtures.cases {
        let differences = case.run(&script);
        println!("{} {}", if differences.is_empty() { "ok  " } else { "FAIL" }, case.name);
        for difference in &differences {
            println!("       {difference}");
        }
        failed += usize::from(!differences.is_empty());
    }
    let passed = fixtures.cases.len() - failed;
    println!("{passed} passed, {failed} failed");
    if failed > 0 {
        return Err(wrong(&format_args!("{failed} fixtures of {} failed", file.display())));
    }
    Ok(())
}

fn open(file: &Path) -> Result<LuauScript, CommandFailure> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let settings = LuauSettings { file: name, ..LuauSettings::default() };
    let log: ScriptLog = Arc::new(|line: &str| println!("     {line}"));
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    LuauScript::open(&settings, folder, &log, None).map_err(|why| {
        let remedy = why.remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
        wrong(&format_args!("{}{remedy}", why.message))
    })
}

fn wrong(why: &dyn Display) -> CommandFailure {
    CommandFailure::new(ExitReason::Wrong, why)
}
