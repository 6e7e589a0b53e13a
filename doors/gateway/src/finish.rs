//! Last changes to an answer: a server's own address taken out, fields changed, the body coded.
//!
//! What the request says about it is noted before the request goes on, for it is gone afterwards.
//! It decides nothing and sends nothing. Called by `request`.

use crate::caller::ClientConnection;
use crate::fields::{self, FieldRules, ValueChange};
use crate::pages;
use crate::public;
use crate::route::GatewayRoute;
use crate::scripted;
use crate::shape::{ShapedAnswer, sign};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method, Request, Response, Version};
use http_body::Body as _;
use http_engine::Body;
use http_engine::encoding::AcceptedCodings;
use http_engine::internal;
use http_front::scripts::{self, ScriptedAsker};
use http_front::{CloseHook, HookVisit, MessageHooks};
use route_matching::ParsedRequest;
use std::sync::Arc;
use vocab::Source;

/// Holds what an answer gets.
pub(crate) struct AnswerFinish {
    route: Option<Arc<GatewayRoute>>,
    changes: Vec<ValueChange>,
    accepted: AcceptedCodings,
    method: Method,
    version: Version,
    /// The request, for a script that is shown the answer.
    asker: Option<Box<ScriptedAsker>>,
    /// State that the route's hooks share.
    pub(crate) visit: HookVisit,
}

/// Returns what a request gets before it goes on, or its answer before it goes out: the rules for
/// all, then those of the route.
pub(crate) fn changes(
    all: &FieldRules,
    own: Option<&FieldRules>,
    parsed: &ParsedRequest,
    caller: &ClientConnection,
) -> Vec<ValueChange> {
    if all.is_empty() && own.is_none_or(FieldRules::is_empty) {
        return Vec::new();
    }
    let facts = fields::TemplateFacts {
        client: parsed.client,
        host: parsed.host.as_str(),
        scheme: caller.scheme(),
        path: &parsed.path,
    };
    let own = own.into_iter().flat_map(|own| own.changes(&facts));
    all.changes(&facts).chain(own).collect()
}

impl AnswerFinish {
    /// Returns what the answer to `request` will get on `route`.
    pub(crate) fn of<B>(
        fields: &FieldRules,
        route: Option<&Arc<GatewayRoute>>,
        parsed: &ParsedRequest,
        caller: &ClientConnection,
        request: &Request<B>,
    ) -> Self {
        let coded = route.is_some_and(|route| route.compress.is_some());
        let own = route.map(|route| &route.response_fields);
        let hooks = route.and_then(|route| route.hooks.as_ref());
        let visit = MessageHooks::visit(hooks);
        let client = scripted::client(caller, parsed, &visit);
        let asker = |hooks| ScriptedAsker::of(hooks, &client, request.method(), request.uri());
        let asker = hooks.and_then(asker);
        Self {
            changes: changes(fields, own, parsed, caller),
            accepted: if coded {
                AcceptedCodings::of(request.headers())
            } else {
                AcceptedCodings::default()
            },
            method: request.method().clone(),
            version: request.version(),
            asker: asker.map(Box::new),
            visit,
            route: route.cloned(),
        }
    }

    /// Call of `on_log` once the request is over, where its route has hooks for that.
    pub(crate) fn log_hook<B>(
        &self,
        caller: &ClientConnection,
        parsed: &ParsedRequest,
        request: &Request<B>,
    ) -> Option<CloseHook> {
        let hooks = self.route.as_ref()?.hooks.as_ref()?;
        let client = scripted::client(caller, parsed, &self.visit);
        scripts::log_hook(hooks, &client, request.method(), request.uri())
    }

    /// Makes an interim answer ready to go out ahead of the answer: as that, as far as it has
    /// fields.
    pub(crate) fn interim(&self, interim: Response<()>) -> Response<()> {
        let mut interim = sign(interim);
        self.change(interim.headers_mut());
        interim
    }

    /// Makes the answer ready to go out.
    pub(crate) fn apply(&self, mut shaped: ShapedAnswer) -> ShapedAnswer {
        let route = self.route.as_deref();
        self.change(shaped.response.headers_mut());
        if shaped.switched.is_some() {
            return shaped;
        }
        // A body without a known end is chunked, which HTTP/1.0 does not know; it would end with
        // the connection, and a cut would pass for whole.
        if self.version != Version::HTTP_10
            && let Some(offer) = route.and_then(|route| route.compress.as_ref())
        {
            let length = length(&shaped.response, &self.method);
            let due = offer.select_coding(&self.accepted, &shaped.response, length);
            shaped.response = due.apply(shaped.response, &self.method);
        }
        self.scripted(shaped)
    }

    /// The answer as the route's script leaves it.
    fn scripted(&self, shaped: ShapedAnswer) -> ShapedAnswer {
        let hooks = self.route.as_ref().and_then(|route| route.hooks.as_ref());
        let (Some(hooks), Some(asker)) = (hooks, &self.asker) else { return shaped };
        let ShapedAnswer { response, source, switched } = shaped;
        let (response, source) = match asker.on_response(hooks, response) {
            Some(response) => (response, source),
            None => (pages::script_failed(), Source::Failed),
        };
        ShapedAnswer { response, source, switched }
    }

    fn change(&self, headers: &mut HeaderMap) {
        if let Some(route) = &self.route {
            internal::strip_internal(headers, &route.allowed_fields.response);
            public::make(&route.public, &route.rewrite, route.pool().map(Arc::as_ref), headers);
        }
        fields::apply(&self.changes, headers);
    }
}

/// Returns how long the body is, if that is known: that of an answer to HEAD is named but not
/// there.
fn length(response: &Response<Body>, method: &Method) -> Option<u64> {
    let named =
        response.headers().get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    let here = || response.body().size_hint().exact().filter(|_| *method != Method::HEAD);
    named.or_else(here)
}
