//! Settings of the notice: the `updates` section of the configuration.

use fetch::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// Bounds of `refresh`: releases are rarer than days, and servers of others are asked.
const REFRESH_MIN: Duration = Duration::from_hours(1);
const REFRESH_MAX: Duration = Duration::from_hours(30 * 24);
const REFRESH: Duration = Duration::from_hours(24);

/// Notice of newer versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateSettings {
    /// The URL that tells the latest release, as GitHub, Gitea and Forgejo do
    /// (`…/repos/OWNER/NAME/releases/latest`): JSON with `tag_name`, and `html_url` for the page to
    /// read. The dashboard, `tidegate ctl status` and the metrics page then say when it is newer
    /// than what runs; nothing is installed. Default: nobody is asked.
    pub releases: Option<String>,
    /// Interval at which it is asked, give or take a tenth. Default 24h, from 1h to 30d.
    pub refresh: Option<Text<TimeSpan>>,
}

impl UpdateSettings {
    /// Everything that is wrong with them.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if let Some(Err(why)) = self.releases.as_deref().map(Url::parse) {
            let complaint = Complaint::new("releases", why.to_string());
            complaints.push(complaint.remedy("write an http:// or https:// URL"));
        }
        if !(REFRESH_MIN..=REFRESH_MAX).contains(&self.refresh()) {
            let complaint = Complaint::new("refresh", "from one hour to 30 days");
            complaints.push(complaint.remedy("write refresh: 24h"));
        }
        complaints
    }

    /// Interval between two questions.
    pub(crate) fn refresh(&self) -> Duration {
        self.refresh.map_or(REFRESH, |it| it.0.0)
    }
}
