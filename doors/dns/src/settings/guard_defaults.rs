//! What holds of the guard where the settings leave it open.

/// Tells what holds where the settings leave it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardDefaults {
    /// Clients are limited, and answers do not point inside.
    Guarded,
    /// Nothing: a pipeline alone says what is done.
    Unguarded,
}
