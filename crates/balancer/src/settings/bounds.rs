//! Complaints about spans and numbers outside their bounds.
//!
//! It knows no setting by name. Called by the checks of a pool's settings.

use settings::Text;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// Complains of a span outside its bounds.
pub(super) fn bounded(
    path: &str,
    given: Text<TimeSpan>,
    least: Duration,
    most: Duration,
) -> Option<Complaint> {
    if (least..=most).contains(&given.0.0) {
        return None;
    }
    let remedy = format!("write a span from {} to {}", TimeSpan(least), TimeSpan(most));
    Some(Complaint::new(path, format!("{given} is out of bounds")).remedy(remedy))
}

/// Complains of a number outside its bounds.
pub(super) fn counted(path: &str, given: u32, least: u32, most: u32) -> Option<Complaint> {
    if (least..=most).contains(&given) {
        return None;
    }
    let remedy = format!("write a number from {least} to {most}");
    Some(Complaint::new(path, format!("{given} is out of bounds")).remedy(remedy))
}
