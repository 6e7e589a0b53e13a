//! `tidegate import`: another program's configuration in our words.
//!
//! What is read and written is crate `config-imports`'s; here it is printed.

use super::{CommandFailure, ExitReason};
pub(crate) use config_imports::ImportArgs;
use config_imports::ImportFailure;

/// Prints a configuration that does what the named one did, or how it came about.
pub(super) fn import(args: &ImportArgs) -> Result<(), CommandFailure> {
    let made = config_imports::import(args).map_err(|failure| match failure {
        ImportFailure::Faults(faults) => CommandFailure::complaints(&faults),
        ImportFailure::Arguments(why) => CommandFailure::new(ExitReason::Wrong, why),
        ImportFailure::File(file, why) => {
            CommandFailure::new(ExitReason::Wrong, format_args!("{}: {why}", file.display()))
        }
    })?;
    print!("{}", made.shown);
    for complaint in &made.complaints {
        eprintln!("tidegate: not yet as check wants it: {complaint}");
    }
    Ok(())
}
