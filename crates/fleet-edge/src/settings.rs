//! Settings of an edge of a fleet: the `fleet` section of the configuration.

use crate::place::BundlePlace;
use crate::s3_credentials::{S3Credentials, S3Settings};
use fleet_bundle::{EdgeName, TrustedKeys, VerifyingKey, check_label};
use fleet_live::LiveSettings;
use fleet_rows::RowSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeMap;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// Time between two looks at the bundles, where nothing is said.
const POLL: Duration = Duration::from_secs(30);
/// Labels of one machine.
const LABELS_MAX: usize = 16;
/// Keys of publishers.
const KEYS_MAX: usize = 16;

/// One machine of many that act as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FleetSettings {
    /// Name of this machine in the fleet: letters, digits, `.`, `-` and `_`, at most 63. Default:
    /// its host name.
    pub name: Option<String>,
    /// Labels of this machine, such as `site: harbour`: they choose overlays of the bundle. Those
    /// that the fleet gave it outrank them. At most 16. Default none.
    pub labels: BTreeMap<String, String>,
    /// Where signed bundles lie: a folder, an `http://` or `https://` address, or
    /// `s3://BUCKET/PREFIX`, with `?region=…`, `&endpoint=https://…` and `&path_style=true` as
    /// needed. The configuration of this machine is then what is published there, with this file
    /// over it. Default: this file is all of it.
    pub bundles: Option<String>,
    /// Credentials for bundles at S3. Default: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or
    /// the shared file of AWS' own clients; without any, requests are not signed.
    pub s3: Option<S3Settings>,
    /// Public keys of those who publish, as `tidegate fleet init` prints them (`ed25519:…`). A
    /// bundle may name other keys from then on; a change here outranks that. At most 16.
    pub keys: Vec<String>,
    /// Signatures by different keys that a bundle must have. Default 1.
    pub signatures: Option<u8>,
    /// Time between two looks at the bundles, give or take a fifth so that a fleet does not come
    /// all at once. From one second to a day. Default `30s`.
    pub poll: Option<Text<TimeSpan>>,
    /// Takes the program itself from the fleet too, where a revision brings one (`tidegate fleet
    /// publish --program`): it is fetched, verified, and takes this one's place without a gap.
    /// Default false: what is installed runs.
    pub programs: bool,
    /// State that the machines share while they run. Default: none is shared.
    pub live: Option<LiveSettings>,
    /// Database that gets the rows of all machines. Default: they stay here.
    pub rows: Option<RowSettings>,
}

impl FleetSettings {
    /// Everything that is wrong with them.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = self.check_names();
        complaints.extend(self.check_bundles());
        if let Some(s3) = &self.s3 {
            complaints.extend(s3.check().into_iter().map(|it| it.under("s3")));
        }
        if let Some(live) = &self.live {
            complaints.extend(live.check().into_iter().map(|it| it.under("live")));
        }
        if let Some(rows) = &self.rows {
            complaints.extend(rows.check().into_iter().map(|it| it.under("rows")));
        }
        complaints
    }

    /// Time between two looks at the bundles.
    pub fn poll(&self) -> Duration {
        self.poll.map_or(POLL, |it| it.0.0)
    }

    /// Keys that are trusted by these settings; none that cannot be read.
    pub fn trusted(&self) -> TrustedKeys {
        let keys = self.keys.iter().filter_map(|it| it.parse::<VerifyingKey>().ok()).collect();
        TrustedKeys { keys, signatures: self.signatures.unwrap_or(1).into() }
    }

    /// Credentials for bundles at S3; none where the settings name none.
    pub fn s3_credentials(&self) -> Option<S3Credentials> {
        self.s3.as_ref().and_then(S3Settings::credentials)
    }

    fn check_names(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let plain = "write letters, digits, `.`, `-` and `_`, at most 63";
        if self.name.as_ref().is_some_and(|name| EdgeName::parse(name).is_err()) {
            complaints.push(Complaint::new("name", "this is no name of a machine").remedy(plain));
        }
        if self.labels.len() > LABELS_MAX {
            let complaint = Complaint::new("labels", format!("more than {LABELS_MAX} labels"));
            complaints.push(complaint.remedy("keep those that overlays are for"));
        }
        for (key, value) in &self.labels {
            if check_label(key).is_err() || check_label(value).is_err() || key == "edge" {
                let message = "this is no label; `edge` is the machine's name";
                let complaint = Complaint::new(format!("labels.{key}"), message);
                complaints.push(complaint.remedy(plain));
            }
        }
        complaints
    }

    fn check_bundles(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for (place, key) in self.keys.iter().enumerate() {
            if let Err(why) = key.parse::<VerifyingKey>() {
                let complaint = Complaint::new(format!("keys.{place}"), why.to_string());
                complaints.push(complaint.remedy("copy it from fleet.yaml of the fleet"));
            }
        }
        let Some(bundles) = &self.bundles else {
            let complaint = || Complaint::new("programs", "without bundles no program comes");
            let complaint = self.programs.then(complaint);
            complaints.extend(complaint.map(|it| it.remedy("set bundles, or leave programs out")));
            return complaints;
        };
        if let Err(why) = BundlePlace::parse(bundles) {
            complaints.push(Complaint::new("bundles", why.to_string()).remedy(why.remedy()));
        }
        if self.keys.is_empty() || self.keys.len() > KEYS_MAX {
            let complaint = Complaint::new("keys", "from 1 to 16 keys say whose bundles are taken");
            complaints.push(complaint.remedy("write the keys that tidegate fleet init printed"));
        }
        let signatures = usize::from(self.signatures.unwrap_or(1));
        if signatures == 0 || signatures > self.keys.len().max(1) {
            let complaint = Complaint::new("signatures", "from 1 to the number of keys");
            complaints.push(complaint.remedy("write a number that the keys can reach"));
        }
        if !(Duration::from_secs(1)..=Duration::from_hours(24)).contains(&self.poll()) {
            let complaint = Complaint::new("poll", "from one second to a day");
            complaints.push(complaint.remedy("write poll: 30s"));
        }
        complaints
    }
}
