//! Settings of single sign-on: the provider, and who of its people may do what.
//!
//! Plain data: it reads no file and touches no socket. Called by `check`, and by the desk of
//! `admin` that signs people on.

use crate::provider::{ClaimNames, ProviderConfig, check_provider_url};
use accounts::UserRole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::SecretText;
use std::path::PathBuf;
use url::{Host, Url};
use vocab::{Complaint, DomainName};

/// Path that browsers come back to.
pub(crate) const CALLBACK_PATH: &str = "/login/oidc/callback";
/// Characters of the provider's name for people.
const NAME_CHARS_MAX: usize = 64;
/// Bytes of a word of the provider: client, scope, group, claim.
const WORD_BYTES_MAX: usize = 256;
/// Scopes, and groups of a role, at most.
const WORDS_MAX: usize = 64;

/// Single sign-on by OpenID Connect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignOnSettings {
    /// Name of the provider on the sign-in page. Default `single sign-on`.
    #[serde(default = "default_name")]
    pub name: String,
    /// Issuer, exactly as the provider calls itself: `https://sso.example/realms/home`. Below it
    /// stands `/.well-known/openid-configuration`. HTTPS, or HTTP on this machine.
    pub issuer: String,
    /// Name of Tidegate with the provider.
    pub client_id: String,
    /// Secret of Tidegate with the provider, as `"${file:/etc/tidegate/oidc}"`; it is shown
    /// nowhere. Default none: a public client, protected by PKCE alone.
    #[serde(default)]
    pub client_secret: Option<SecretText>,
    /// Address at which browsers call the dashboard: `https://tide.example`, without a path. The
    /// provider has to know it with `/login/oidc/callback` behind it, as a redirect URI. Its host
    /// is one of `hosts` by this.
    pub public_url: String,
    /// Scopes that are asked for; `openid` is one of them. Default `[openid, profile, email]`.
    #[serde(default = "default_scopes")]
    pub scopes: Vec<String>,
    /// Role of who is in none of the groups below: `viewer`, `operator` or `administrator`. Default
    /// none: they are not let in.
    #[serde(default)]
    pub role: Option<SignOnRole>,
    /// Groups of the provider whose members have a role; who is in several has the greatest.
    /// Default none.
    #[serde(default)]
    pub roles: GroupRoles,
    /// Claim that has the groups, a list of texts or one text. Default `groups`.
    #[serde(default = "default_groups_claim")]
    pub groups_claim: String,
    /// Claim that has the name of a new user. Where it is missing or no name of a user, the e-mail
    /// address is taken, then the subject. Default `preferred_username`.
    #[serde(default = "default_name_claim")]
    pub name_claim: String,
    /// Authorities that are trusted for the provider besides the usual ones, in PEM; a relative
    /// path starts from the configuration's folder. Default none.
    #[serde(default)]
    pub ca: Option<PathBuf>,
}

/// Groups whose members have a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GroupRoles {
    /// Groups of viewers. Default none.
    pub viewer: Vec<String>,
    /// Groups of operators. Default none.
    pub operator: Vec<String>,
    /// Groups of administrators. Default none.
    pub administrator: Vec<String>,
}

/// A role, as the settings write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignOnRole {
    /// Looks.
    Viewer,
    /// Does what a day brings.
    Operator,
    /// Does everything.
    Administrator,
}

fn default_name() -> String {
    "single sign-on".into()
}

fn default_scopes() -> Vec<String> {
    ["openid", "profile", "email"].map(str::to_owned).into()
}

fn default_groups_claim() -> String {
    "groups".into()
}

fn default_name_claim() -> String {
    "preferred_username".into()
}

impl From<SignOnRole> for UserRole {
    fn from(role: SignOnRole) -> Self {
        match role {
            SignOnRole::Viewer => Self::Viewer,
            SignOnRole::Operator => Self::Operator,
            SignOnRole::Administrator => Self::Administrator,
        }
    }
}

impl GroupRoles {
    fn all(&self) -> [(UserRole, &'static str, &[String]); 3] {
        [
            (UserRole::Administrator, "administrator", &self.administrator),
            (UserRole::Operator, "operator", &self.operator),
            (UserRole::Viewer, "viewer", &self.viewer),
        ]
    }

    fn is_empty(&self) -> bool {
        self.all().iter().all(|(_, _, groups)| groups.is_empty())
    }
}

impl SignOnSettings {
    /// The greatest role of somebody in these groups; none for who is not to be let in.
    pub fn role_of(&self, groups: &[String]) -> Option<UserRole> {
        let all = self.roles.all();
        let mut meant =
            all.iter().filter(|(_, _, of_role)| of_role.iter().any(|it| groups.contains(it)));
        meant.next().map(|(role, _, _)| *role).max(self.role.map(UserRole::from))
    }

    /// Name at which browsers call the dashboard; none where that is an address.
    pub fn public_name(&self) -> Option<DomainName> {
        match self.public()?.host()? {
            Host::Domain(name) => DomainName::parse(name).ok(),
            Host::Ipv4(_) | Host::Ipv6(_) => None,
        }
    }

    /// Origin at which browsers call the dashboard: `https://tide.example`.
    pub fn public_origin(&self) -> String {
        self.public().map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }

    /// The provider, and what we are to it.
    pub fn provider(&self) -> ProviderConfig {
        ProviderConfig {
            issuer: self.issuer.clone(),
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone(),
            scopes: self.scopes.clone(),
            redirect_uri: format!("{}{CALLBACK_PATH}", self.public_origin()),
            claims: ClaimNames {
                name: self.name_claim.clone(),
                groups: (!self.roles.is_empty()).then(|| self.groups_claim.clone()),
            },
        }
    }

    /// The public URL, if it is one: an origin and nothing else.
    fn public(&self) -> Option<Url> {
        let url = Url::parse(&self.public_url).ok()?;
        let is_web = matches!(url.scheme(), "http" | "https") && url.host().is_some();
        let is_plain = url.username().is_empty() && url.password().is_none();
        let ends = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        (is_web && is_plain && ends).then_some(url)
    }

    /// Every complaint, with paths relative to this section.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let mut say = |path: &str, message: String, remedy: &str| {
            complaints.push(Complaint::new(path, message).remedy(remedy.to_owned()));
        };
        let length = self.name.chars().count();
        if length == 0 || length > NAME_CHARS_MAX || self.name.chars().any(char::is_control) {
            let remedy = "write 1 to 64 characters of one line, as people know the provider";
            say("name", "this is no name for a button".into(), remedy);
        }
        if let Err(why) = check_provider_url(&self.issuer) {
            let remedy = "write the `issuer` that stands in the provider's \
                          /.well-known/openid-configuration";
            say("issuer", why.to_string(), remedy);
        } else if self.issuer.contains('?') {
            say("issuer", "an issuer has no query".into(), "write it without");
        }
        if !is_word(&self.client_id) {
            let remedy = "write the identifier that the provider gave to Tidegate";
            say("client_id", "this is no identifier of a client".into(), remedy);
        }
        if self.client_secret.as_ref().is_some_and(|it| it.reveal().is_empty()) {
            say("client_secret", "it is empty".into(), "leave it out for a public client");
        }
        if self.public().is_none() {
            let remedy = "write scheme and host, and nothing behind: https://tide.example";
            say("public_url", "this is no address at which browsers call".into(), remedy);
        }
        let is_openid = self.scopes.iter().any(|it| it == "openid");
        if !is_openid || self.scopes.len() > WORDS_MAX || !self.scopes.iter().all(|it| is_word(it))
        {
            let remedy = "write `openid` and others, each a word: [openid, profile, groups]";
            say("scopes", "these are not scopes of a sign-in".into(), remedy);
        }
        for (path, claim) in
            [("groups_claim", &self.groups_claim), ("name_claim", &self.name_claim)]
        {
            if !is_word(claim) {
                say(path, "this is no name of a claim".into(), "write one as the provider has it");
            }
        }
        for (_, role, groups) in self.roles.all() {
            let fits = |it: &String| !it.is_empty() && it.len() <= WORD_BYTES_MAX;
            if groups.len() > WORDS_MAX || !groups.iter().all(fits) {
                let message = "a role has at most 64 groups, of 1 to 256 bytes each".to_owned();
                say(&format!("roles.{role}"), message, "write fewer, or shorter ones");
            }
        }
        if self.role.is_none() && self.roles.is_empty() {
            let remedy = "set `roles`, such as { operator: [staff] }, or `role` for everybody whom \
                          the provider lets in";
            say("roles", "nobody would be let in".into(), remedy);
        }
        complaints
    }

    /// Settings that are valid and likely a mistake, with paths relative to this section.
    pub fn warnings(&self) -> Vec<Complaint> {
        let Some(public) = self.public() else { return Vec::new() };
        let is_here = match public.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if public.scheme() == "https" || is_here {
            return Vec::new();
        }
        let message = "warning: browsers come back from the provider over plain HTTP, and whoever \
                       listens on the way can take the session";
        let remedy = "let them call by HTTPS: admin.https, or a gateway in front";
        vec![Complaint::new("public_url", message).remedy(remedy)]
    }
}

fn is_word(text: &str) -> bool {
    (1..=WORD_BYTES_MAX).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn settings(more: Value) -> SignOnSettings {
        let mut all = json!({
            "issuer": "https://sso.example", "client_id": "tidegate",
            "public_url": "https://tide.example", "roles": {"operator": ["staff"]},
        });
        let Value::Object(more) = more else { panic!("{more}") };
        all.as_object_mut().unwrap().extend(more);
        serde_json::from_value(all).unwrap()
    }

    fn paths(more: Value) -> Vec<String> {
        settings(more).check().into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn what_cannot_work_is_a_complaint_with_its_place() {
        assert_eq!(settings(json!({})).check(), []);
        for (more, path) in [
            (json!({"name": ""}), "name"),
            (json!({"issuer": "http://sso.example"}), "issuer"),
            (json!({"issuer": "https://sso.example/?a"}), "issuer"),
            (json!({"client_id": ""}), "client_id"),
            (json!({"client_secret": ""}), "client_secret"),
            (json!({"public_url": "tide.example"}), "public_url"),
            (json!({"public_url": "https://tide.example/admin"}), "public_url"),
            (json!({"public_url": "https://a@tide.example"}), "public_url"),
            (json!({"scopes": ["profile"]}), "scopes"),
            (json!({"scopes": ["openid", "a b"]}), "scopes"),
            (json!({"groups_claim": ""}), "groups_claim"),
            (json!({"roles": {"viewer": [""]}}), "roles.viewer"),
            (json!({"roles": {}}), "roles"),
        ] {
            assert_eq!(paths(more.clone()), [path], "{more}");
        }
        assert_eq!(paths(json!({"roles": {}, "role": "viewer"})), [""; 0]);
    }

    #[test]
    fn plain_http_is_warned_of_unless_it_stays_here() {
        let warned = |url: &str| settings(json!({"public_url": url})).warnings().len();
        assert_eq!(warned("http://tide.example:9053"), 1);
        for fine in ["https://tide.example", "http://localhost:9053", "http://127.0.0.1:9053/"] {
            assert_eq!(warned(fine), 0, "{fine}");
        }
    }

    #[test]
    fn the_greatest_role_holds_and_nobody_has_one_by_default() {
        let roles = json!({"viewer": ["all"], "operator": ["staff"], "administrator": ["root"]});
        let role = |role: Value, groups: &[&str]| {
            let groups: Vec<_> = groups.iter().map(|it| (*it).to_owned()).collect();
            settings(json!({"roles": roles, "role": role})).role_of(&groups)
        };
        assert_eq!(role(Value::Null, &[]), None);
        assert_eq!(role(Value::Null, &["Root", "roots"]), None);
        assert_eq!(role(Value::Null, &["all", "root", "staff"]), Some(UserRole::Administrator));
        assert_eq!(role(json!("viewer"), &[]), Some(UserRole::Viewer));
        assert_eq!(role(json!("operator"), &["all"]), Some(UserRole::Operator));
        assert_eq!(role(json!("viewer"), &["staff"]), Some(UserRole::Operator));
    }

    #[test]
    fn the_secret_has_no_debug_form() {
        let text = format!("{:?}", settings(json!({"client_secret": "hush"})));
        assert!(!text.contains("hush"), "{text}");
    }
}
