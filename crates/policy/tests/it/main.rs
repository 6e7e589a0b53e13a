//! What a policy says, asked from outside: by syntax, by modifier, by rank, and on hostile input.

mod explain;
mod hostile;
mod modifiers;
mod names;
mod profiles;
mod rank;
mod real_lists;
mod reference;
mod settings;
mod skips;
mod snapshot;
mod support;
mod urls;
