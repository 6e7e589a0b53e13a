//! Lists of a configuration: their texts read and compiled, and those with a URL fetched.
//!
//! [`read`] brings texts, from files, folders and the state folder, and [`ListTexts`] makes rules
//! of them; [`Subscriptions`] has the ones with a URL fetched when they are due. A list that cannot
//! be read is refused with its place in the file; one that cannot be fetched keeps its last good
//! text. Called by the running program, which has the lists in force ([`ListOwner`]), and by
//! commands.

mod compiled_lists;
mod folder;
mod hex_text;
mod overlaps;
mod owner;
mod randomness;
mod subscriptions;
mod texts;
mod unreadable;

pub use compiled_lists::{NotCompiled, SharedLists};
pub use overlaps::CountedOverlaps;
pub use owner::ListOwner;
pub use subscriptions::{
    BadAuthorities, FetchOutcome, ListFetchError, ListsNotInForce, ShrinkRule, Subscription,
    Subscriptions, UpdateRefusal, subscribe, update_offline,
};
pub use texts::{
    COMPILED_FOLDER, ListTexts, RulesOrigin, compile_file, compiled_alone, folders, list_info,
    not_in_force, origin_of, read, without_rules,
};
pub use unreadable::ListReadError;
