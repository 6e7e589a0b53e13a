//! What a policy says, asked from outside: by syntax, by modifier, by rank, and on hostile input.

mod any_name;
mod below;
mod clients;
mod explain;
mod files;
mod hooks;
mod hostile;
mod modifiers;
mod names;
mod overrides;
mod profiles;
mod rank;
mod real_lists;
mod recompile;
mod reference;
mod rewrites;
mod settings;
mod skips;
mod snapshot;
mod stand_ins;
mod support;
mod syntaxes;
mod trims;
mod urls;
