//! The budget of bytes that all uploads together may hold.
//!
//! A counter and shares in it that give back what they hold when they are dropped. Called by
//! `spool`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Holds what is in use, in bytes.
#[derive(Debug, Default)]
pub(super) struct UploadBudget(AtomicU64);

/// Holds what one upload holds of it.
#[derive(Debug)]
pub(super) struct BudgetShare {
    budget: Arc<UploadBudget>,
    bytes: u64,
}

/// The budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsedUp;

impl BudgetShare {
    /// Nothing yet of `budget`.
    pub(super) fn none(budget: &Arc<UploadBudget>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0 }
    }

    /// Holds `more` bytes besides, if no more than `most` are in use then.
    pub(super) fn grow(&mut self, more: u64, most: u64) -> Result<(), UsedUp> {
        let fits = |used: u64| used.checked_add(more).filter(|after| *after <= most);
        self.budget.0.fetch_update(Relaxed, Relaxed, fits).map_err(|_| UsedUp)?;
        self.bytes += more;
        Ok(())
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fit_together_and_give_back() {
        let budget = Arc::new(UploadBudget::default());
        let (mut one, mut other) = (BudgetShare::none(&budget), BudgetShare::none(&budget));
        assert_eq!(one.grow(60, 100), Ok(()));
        assert_eq!(other.grow(41, 100), Err(UsedUp));
        assert_eq!(other.grow(40, 100), Ok(()));
        drop(one);
        assert_eq!(other.grow(60, 100), Ok(()));
        assert_eq!(other.grow(u64::MAX, u64::MAX), Err(UsedUp));
        drop(other);
        assert_eq!(budget.0.load(Relaxed), 0);
    }
}
