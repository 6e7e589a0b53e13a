//! The script and the filters of the proxy: their hooks, called with requests and answers of this
//! door.
//!
//! They see what clients were let in with and the policy lets pass, once the redirector has spoken,
//! and every answer to those who were let in. Called by `request`.

use crate::connection::ProxyConnection;
use crate::setup::ProxySetup;
use crate::target::{self, ProxyTarget};
use http::{Method, Request, Response, Uri};
use http_engine::Body;
use http_front::scripts::{self, ScriptedAsker, ScriptedClient, ScriptedCourse};
use http_front::{CloseHook, HookVisit, MessageHooks};

/// A request of which the script is told more than once.
pub(crate) struct ScriptVisit {
    host: String,
    scheme: &'static str,
    uri: Uri,
    method: Method,
    visit: HookVisit,
}

/// End of a request by its script.
pub(crate) enum ScriptedEnd {
    /// The script has answered it.
    Answered(Box<Response<Body>>),
    /// The script failed, and is set to fail its requests.
    Failed,
}

impl ScriptVisit {
    /// The request for `target`, where there are hooks that look at it.
    pub(crate) fn of(setup: &ProxySetup, target: &ProxyTarget, method: &Method) -> Option<Self> {
        let visit = MessageHooks::visit(Some(setup.hooks.as_ref()?));
        let (host, scheme, uri) = match target {
            ProxyTarget::Fetch { origin, path } => {
                (origin.host.to_string(), origin.scheme.as_str(), origin.url(path))
            }
            ProxyTarget::Tunnel(to) => {
                (to.host.to_string(), to.scheme.as_str(), format!("{}:{}", to.host, to.port))
            }
            ProxyTarget::Local(_) => return None,
        };
        Some(Self { host, scheme, uri: uri.parse().ok()?, method: method.clone(), visit })
    }

    fn client(&self, caller: &ProxyConnection) -> ScriptedClient<'_> {
        let Self { host, scheme, visit, .. } = self;
        ScriptedClient { host, scheme, ip: caller.client(), visit }
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
        let (hooks, mut uri) = (setup.hooks.as_ref()?, self.uri.clone());
        let client = self.client(caller);
        let fields = request.headers_mut();
        match scripts::on_request(hooks, &client, &self.method, &mut uri, fields) {
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
        let (hooks, client) = (setup.hooks.as_ref()?, self.client(caller));
        ScriptedAsker::of(hooks, &client, &self.method, &self.uri)
    }

    /// Call of `on_log` once the request is over, where there are hooks.
    pub(crate) fn log_hook(
        &self,
        setup: &ProxySetup,
        caller: &ProxyConnection,
    ) -> Option<CloseHook> {
        let (hooks, client) = (setup.hooks.as_ref()?, self.client(caller));
        scripts::log_hook(hooks, &client, &self.method, &self.uri)
    }
}
