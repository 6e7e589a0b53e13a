//! The first run as the admin API asks for it, and the word that keeps a change that waits, as a
//! trait that the binary implements.
//!
//! Methods may block, like those of [`crate::ProgramControl`], but for [`FirstRunDesk::check_url`].

use crate::change_author::ChangeAuthor;
use crate::configuration::FilesRefusal;
use crate::control::SettingsRefusal;
use admin_api::{FirstRunInfo, FirstRunOutcome, FirstRunQuery, FirstRunRequest};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use vocab::Now;

/// The first run, and changes that wait for confirmation.
pub trait FirstRunDesk: Send + Sync + 'static {
    /// This machine and configuration as they are, for a device that asks. Users and questions of
    /// the device are not known here.
    fn look(&self, asked: &FirstRunQuery, client: IpAddr, now: Now) -> FirstRunInfo;

    /// Writes what was chosen into the configuration and takes it over, until it is confirmed.
    ///
    /// # Errors
    /// Nothing is changed then.
    fn begin(
        &self,
        wanted: &FirstRunRequest,
        author: &ChangeAuthor,
    ) -> Result<FirstRunOutcome, FilesRefusal>;

    /// Keeps the change that waits, for a request that came to this listener.
    ///
    /// # Errors
    /// None waits, it is too late, or the listener is one that the change closes.
    fn confirm(&self, came_to: Option<SocketAddr>) -> Result<(), SettingsRefusal>;

    /// Picture at the pixel door that shows whether a device trusts the authority. Never blocks.
    fn check_url(&self) -> Option<Arc<String>>;
}
