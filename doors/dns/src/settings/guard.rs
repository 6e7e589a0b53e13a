//! The sections of the guard together.

use super::access::AccessSettings;
use super::client_subnet::ClientSubnetSettings;
use super::cookies::CookieSettings;
use super::guard_defaults::GuardDefaults;
use super::rate_limit::RateLimitSettings;
use super::rebinding::RebindingSettings;
use super::response_rate_limit::ResponseRateLimitSettings;
use vocab::Complaint;

/// Holds what the guard is set up with: sections of the door's settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardSettings<'s> {
    pub(crate) access: &'s AccessSettings,
    pub(crate) rate_limit: &'s RateLimitSettings,
    pub(crate) response_rate_limit: &'s ResponseRateLimitSettings,
    pub(crate) rebinding: &'s RebindingSettings,
    pub(crate) cookies: &'s CookieSettings,
    pub(crate) client_subnet: &'s ClientSubnetSettings,
    pub(crate) defaults: GuardDefaults,
}

impl GuardSettings<'_> {
    /// Every complaint, with paths relative to the door's section.
    pub(crate) fn check(&self) -> Vec<Complaint> {
        let sections = [
            ("access", self.access.check()),
            ("rate_limit", self.rate_limit.check()),
            ("response_rate_limit", self.response_rate_limit.check()),
            ("rebinding", self.rebinding.check()),
            ("cookies", self.cookies.check()),
            ("client_subnet", self.client_subnet.check()),
        ];
        let named = |(name, found): (&'static str, Vec<Complaint>)| {
            found.into_iter().map(move |complaint| complaint.under(name))
        };
        sections.into_iter().flat_map(named).collect()
    }
}
