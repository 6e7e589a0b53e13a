//! `tidegate check --diff`: the file beside what the running Tidegate has in force.

use super::lists::OutputForm;
use super::{CommandFailure, CommandSetup, ExitReason};
use config::{EffectTime, Plan, differences};
use control_client::RunningTidegate;
use serde_json::{Map, Value as Json, json};

/// Prints what a reload, or a restart, would change.
pub(super) fn print(
    setup: &CommandSetup,
    plan: &Plan,
    form: OutputForm,
) -> Result<(), CommandFailure> {
    let mut running = RunningTidegate::find(&setup.state_dir(plan))
        .map_err(|why| CommandFailure::new(ExitReason::NotStarted, why))?;
    let file = plan.shown_whole();
    let mut in_force = Map::new();
    for section in file.as_object().into_iter().flatten().map(|(section, _)| section) {
        let answer: Json = running.get(&format!("/api/config/value?path={section}"))?;
        in_force.insert(section.clone(), answer["value"].clone());
    }
    let found = differences(&Json::Object(in_force), &file);
    let lists = plan.file.policy.lists.iter();
    let lists: Vec<&str> =
        lists.filter(|list| list.path.is_some()).map(|list| list.name.as_str()).collect();
    if form == OutputForm::Json {
        println!("{:#}", json!({ "differences": found, "lists_read_anew": lists }));
        return Ok(());
    }
    for difference in &found {
        println!("{difference}");
    }
    if found.is_empty() {
        println!("nothing differs from what is in force");
    } else if found.iter().any(|it| it.takes == EffectTime::Restart) {
        println!("the rest is taken over by tidegate ctl reload");
    }
    if !lists.is_empty() {
        println!("a reload reads these lists anew: {}", lists.join(", "));
    }
    println!("passwords and tokens are hidden, and not compared");
    Ok(())
}
