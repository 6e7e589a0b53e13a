//! The script of the proxy: its hooks, called with requests and answers of this door.
//!
//! It sees what clients were let in with and the policy lets pass, once the redirector has spoken,
//! and every answer to those who were let in. Called by `request`.

use crate::connection::ProxyConnection;
use crate::setup::ProxySetup;
use crate::target::{self, ProxyTarget};
use http::{Method, Request, Response, Uri};
use http_engine::Body;
use http_front::CloseHook;
use http_front::scripts::{self, ScriptedAsker, ScriptedClient, ScriptedCourse};
use scripting::ScriptVariables;

/// A request of which the script is told more than once.
pub(crate) struct ScriptVisit {
    host: String,
    scheme: &'static str,
    uri: Uri,
    method: Method,
    variables: ScriptVariables,
}

/// End of a request by its script.
pub(crate) enum ScriptedEnd {
    /// The script has answered it.
    Answered(Box<Response<Body>>),
    /// The script failed, and is set to fail its requests.
    Failed,
}

impl ScriptVisit {
    /// The request for `target`, where there is a script that looks at it.
    pub(crate) fn of(setup: &ProxySetup, target: &ProxyTarget, method: &Method) -> Option<Self> {
        let variables = setup.script.as_ref()?.variables();
        let (host, scheme, uri) = match target {
            ProxyTarget::Fetch { origin, path } => {
                (origin.host.to_string(), origin.scheme.as_str(), origin.url(path))
            }
            ProxyTarget::Tunnel(to) => {
                (to.host.to_string(), to.scheme.as_str(), format!("{}:{}", to.host, to.port))
            }
            ProxyTarget::Local(_) => return None,
        };
        Some(Self { host, scheme, uri: uri.parse().ok()?, method: method.clone(), variables })
    }

    fn client(&self, caller: &ProxyConnection) -> ScriptedClient<'_> {
        let Self { host, scheme, variables, .. } = self;
        ScriptedClient { host, scheme, ip: caller.client(), variables }
    }

    /// Calls `on_request`, which may set the path of `target`; how the request ends by that, if it
    /// does.
    pub(crate) fn on_request<B>(
        &self,
        setup: &ProxySetup,
        caller: &ProxyConnection,
        target: &mut ProxyTarget,
        request: &mut Request<B>,
    ) -> Option<ScriptedEnd> {
        let (script, mut uri) = (setup.script.as_ref()?, self.uri.clone());
        let client = self.client(caller);
        let fields = request.headers_mut();
        match scripts::on_request(script, &client, &self.method, &mut uri, fields) {
            ScriptedCourse::Same => None,
            ScriptedCourse::Answered(answer) => Some(ScriptedEnd::Answered(answer)),
            ScriptedCourse::Failed => Some(ScriptedEnd::Failed),
            ScriptedCourse::Moved => match target::read(&self.method, &uri) {
                Ok(moved) => {
                    *target = moved;
                    None
                }
                Err(_) => Some(ScriptedEnd::Failed),
            },
        }
    }

    /// The request, kept to show the script its answer, where it wants to see that.
    pub(crate) fn asker(
        &self,
        setup: &ProxySetup,
        caller: &ProxyConnection,
    ) -> Option<ScriptedAsker> {
        ScriptedAsker::of(setup.script.as_ref()?, &self.client(caller), &self.method, &self.uri)
    }

    /// Call of `on_log` once the request is over, where the script has it.
    pub(crate) fn log_hook(
        &self,
        setup: &ProxySetup,
        caller: &ProxyConnection,
    ) -> Option<CloseHook> {
        scripts::log_hook(setup.script.as_ref()?, &self.client(caller), &self.method, &self.uri)
    }
}
