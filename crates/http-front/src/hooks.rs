//! Hooks of a route, a site or a door: its script and its filters.
//!
//! Opened with the place that names them. It calls nothing: that is [`crate::scripts`].

use scripting::{LuauChoice, LuauScript, ScriptLog, ScriptPlace, ScriptVariables};
use std::path::Path;
use vocab::Complaint;
use wasm_filters::{FilterChain, FilterVisit, WasmFilterSettings};

/// A script, filters, or both.
#[derive(Clone, Debug)]
pub struct MessageHooks {
    script: Option<LuauScript>,
    pub(crate) filters: Option<FilterChain>,
}

/// State of a request that its hooks share.
#[derive(Clone, Debug, Default)]
pub struct HookVisit {
    /// Variables of the script.
    pub(crate) variables: ScriptVariables,
    /// Contexts of the filters.
    filters: Option<FilterVisit>,
}

/// Settings of the hooks of a place.
#[derive(Clone, Copy, Debug)]
pub struct HookSettings<'s> {
    /// The script.
    pub script: Option<&'s LuauChoice>,
    /// The filters.
    pub wasm: &'s [WasmFilterSettings],
}

impl MessageHooks {
    /// Opens what the settings of a place name, relative files from `base`; nothing where they name
    /// none. `before` is what stood in its place. Complaints have paths relative to the place.
    pub fn open_at(
        place: ScriptPlace,
        settings: HookSettings<'_>,
        base: &Path,
        log: &ScriptLog,
        before: Option<&Self>,
    ) -> Result<Option<Self>, Complaint> {
        let script = settings.script.map(|script| {
            let before = before.and_then(|before| before.script.as_ref());
            LuauScript::open_at(place, script, base, log, before)
        });
        let before = before.and_then(|before| before.filters.as_ref());
        let (script, filters) =
            (script.transpose()?, FilterChain::open(settings.wasm, base, log, before)?);
        let is_empty = script.is_none() && filters.is_none();
        Ok((!is_empty).then_some(Self { script, filters }))
    }

    /// The script, if there is one.
    pub const fn script(&self) -> Option<&LuauScript> {
        self.script.as_ref()
    }

    /// The filters, if there are some.
    pub const fn filters(&self) -> Option<&FilterChain> {
        self.filters.as_ref()
    }

    /// State of one request, from its first hook to its last.
    pub fn visit(hooks: Option<&Self>) -> HookVisit {
        let script = hooks.and_then(Self::script);
        HookVisit {
            variables: script.map(LuauScript::variables).unwrap_or_default(),
            filters: hooks.and_then(Self::filters).map(FilterChain::visit),
        }
    }

    /// The filters' part of the state; none for filters of another place.
    pub(crate) fn filter_visit(&self, visit: &HookVisit) -> Option<FilterVisit> {
        let filters = self.filters.as_ref()?;
        visit.filters.as_ref().filter(|visit| visit.is_of(filters)).cloned()
    }
}
