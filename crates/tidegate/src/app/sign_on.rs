//! The way to the provider of single sign-on, by our own client.
//!
//! Made when the admin opens; the admin calls it on a thread that may wait.

use super::RunningApp;
use config::Plan;
use fetch::{RepeatableRequest, Url, WholeBounds, whole};
use http::Method;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use origins::{Dialer, OriginLimits, Origins};
use single_sign_on::{
    ANSWER_BYTES_MAX, ANSWER_TIME_MAX, ProviderAnswer, ProviderRequest, ProviderTransport,
    ProviderUnreachable,
};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::{Builder, LocalOptions};
use transport::ClientTls;
use vocab::Complaint;

/// The setting of the authorities, within `admin`.
const CA_PATH: &str = "single_sign_on.ca";

/// Client of a provider. Each exchange has a connection of its own: people sign in seldom.
struct ProviderClient {
    dialer: Dialer,
}

impl ProviderTransport for ProviderClient {
    fn send(&self, request: ProviderRequest) -> Result<ProviderAnswer, ProviderUnreachable> {
        let failed = |why: &dyn fmt::Display| ProviderUnreachable(why.to_string());
        let url = Url::parse(&request.url).map_err(|why| failed(&why))?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(text) = request.authorization {
            let mut value = HeaderValue::try_from(text).map_err(|why| failed(&why))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let (method, body) = match request.form {
            Some(form) => {
                let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
                headers.insert(CONTENT_TYPE, form_type);
                (Method::POST, form)
            }
            None => (Method::GET, String::new()),
        };
        let request = RepeatableRequest { method, url, headers, body: body.into() };
        let bounds = WholeBounds { redirects: 0, body: ANSWER_BYTES_MAX, time: ANSWER_TIME_MAX };
        let limits = OriginLimits { response_timeout: ANSWER_TIME_MAX, ..OriginLimits::default() };
        let runtime =
            Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
        let answer = runtime.map_err(|why| failed(&why))?.block_on(async {
            let origins = Origins::new(self.dialer.clone(), limits);
            whole(&origins, request, bounds).await
        });
        let answer = answer.map_err(|why| failed(&why))?;
        Ok(ProviderAnswer { status: answer.status.as_u16(), body: answer.body.into() })
    }
}

impl RunningApp {
    /// The way to the provider; none where there is no single sign-on.
    pub(super) fn sign_on_provider(
        &self,
        plan: &Plan,
    ) -> Result<Option<Arc<dyn ProviderTransport>>, Complaint> {
        let Some(settings) = &plan.file.admin.single_sign_on else { return Ok(None) };
        let dialer = match &settings.ca {
            None => self.dialer(),
            Some(file) => {
                let place = plan.base(self.state.path()).join(file);
                self.dialer().trusting_file(&place).map_err(|why| not_usable(&place, &why))?
            }
        };
        Ok(Some(Arc::new(ProviderClient { dialer })))
    }
}

/// Complaint about the file of authorities, with its path within `admin`.
pub(super) fn check_authorities(plan: &Plan, base: &Path) -> Option<Complaint> {
    let file = plan.file.admin.single_sign_on.as_ref()?.ca.as_ref()?;
    let place = base.join(file);
    ClientTls::new().trusting_file(&place).err().map(|why| not_usable(&place, &why))
}

fn not_usable(file: &Path, why: &dyn fmt::Display) -> Complaint {
    Complaint::new(CA_PATH, format!("{}: {why}", file.display()))
        .remedy("name a file with the provider's authorities in PEM")
}
