//! The program that lists are fetched for.

use crate::subscriptions::{ListsNotInForce, Subscriptions};
use origins::Dialer;
use transport::Drain;

/// The program that has the lists in force; the thread that fetches them asks it.
pub trait ListOwner: Send + Sync {
    /// All subscriptions.
    fn subscriptions(&self) -> &Subscriptions;
    /// The dialer by which servers of lists are reached.
    fn list_dialer(&self) -> Dialer;
    /// The end of the program.
    fn list_drain(&self) -> Drain;
    /// Compiles all lists as they are now and puts them in force; says how many lists and rules
    /// there are.
    fn reload_lists(&self) -> Result<(u32, u64), ListsNotInForce>;
    /// Keeps a note about a list for the operator.
    fn note_list(&self, subject: &str, text: &str);
}
