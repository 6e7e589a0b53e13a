//! The host's side of an instance while it is called: the message that is lent to it, its limits,
//! and what it has decided.

use crate::fault::FilterFault;
use crate::filter_base::FilterBase;
use foldhash::fast::RandomState;
use http::HeaderMap;
use scripting::{FieldRefusal, ScriptAnswer, ScriptedLogEntry, ScriptedRequest, ScriptedResponse};
use std::collections::HashSet;
use std::sync::Arc;
use wasmtime::{Memory, ResourceLimiter, TypedFunc};

/// The moment of a request at which a filter is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallStage {
    /// No message is there: the filter starts, or its request begins or ends.
    #[default]
    Idle,
    Request,
    Response,
    Log,
}

/// The map of fields that a call means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldMap {
    Request,
    Response,
}

/// The host of one instance.
pub(crate) struct HostState {
    pub(crate) base: Arc<FilterBase>,
    pub(crate) memory: Option<Memory>,
    pub(crate) allocate: Option<TypedFunc<u32, u32>>,
    /// Contexts that are there, the root among them.
    pub(crate) contexts: HashSet<u32, RandomState>,
    /// The context that is called.
    pub(crate) called: u32,
    /// The context that it speaks for.
    pub(crate) effective: u32,
    pub(crate) stage: CallStage,
    pub(crate) message: LentMessage,
    pub(crate) changes_made: u32,
    pub(crate) is_moved: bool,
    pub(crate) answer: Option<Box<ScriptAnswer>>,
    ticks_left: u32,
}

/// The message that a call is about.
#[derive(Default)]
pub(crate) struct LentMessage {
    pub(crate) request: ScriptedRequest,
    pub(crate) response: ScriptedResponse,
    pub(crate) entry: ScriptedLogEntry,
}

impl HostState {
    pub(crate) fn new(base: Arc<FilterBase>) -> Self {
        Self {
            base,
            memory: None,
            allocate: None,
            contexts: HashSet::default(),
            called: 0,
            effective: 0,
            stage: CallStage::Idle,
            message: LentMessage::default(),
            changes_made: 0,
            is_moved: false,
            answer: None,
            ticks_left: 0,
        }
    }

    /// Gives the call that begins now so many ticks, and the one that runs already.
    pub(crate) const fn begin(&mut self, context: u32, ticks: u32) {
        self.called = context;
        self.effective = context;
        self.ticks_left = ticks.saturating_add(1);
    }

    /// Counts a tick, or ends the call.
    pub(crate) fn spend_tick(&mut self) -> Result<(), FilterFault> {
        self.ticks_left = self.ticks_left.saturating_sub(1);
        if self.ticks_left == 0 {
            return Err(FilterFault::TimeLimit(self.base.time_limit()));
        }
        Ok(())
    }

    /// The map of a number, if it is there by now: a filter that speaks for another context than
    /// the one that is called sees nothing.
    pub(crate) fn map(&self, number: u32) -> Option<FieldMap> {
        let map = match (number, self.stage) {
            (0, CallStage::Request | CallStage::Response | CallStage::Log) => FieldMap::Request,
            (2, CallStage::Response | CallStage::Log) => FieldMap::Response,
            _ => return None,
        };
        (self.effective == self.called).then_some(map)
    }

    /// True if the map may be changed by now.
    pub(crate) const fn is_open(&self, map: FieldMap) -> bool {
        matches!(
            (map, self.stage),
            (FieldMap::Request, CallStage::Request) | (FieldMap::Response, CallStage::Response)
        )
    }

    pub(crate) const fn fields(&self, map: FieldMap) -> &HeaderMap {
        match map {
            FieldMap::Request => &self.message.request.headers,
            FieldMap::Response => &self.message.response.headers,
        }
    }

    /// The fields, to make a change to them.
    pub(crate) fn fields_to_change(
        &mut self,
        map: FieldMap,
    ) -> Result<&mut HeaderMap, FieldRefusal> {
        FieldRefusal::count_change(&mut self.changes_made)?;
        Ok(match map {
            FieldMap::Request => &mut self.message.request.headers,
            FieldMap::Response => &mut self.message.response.headers,
        })
    }
}

impl ResourceLimiter for HostState {
    fn memory_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let limit = self.base.memory_max();
        if desired > limit {
            return Err(FilterFault::MemoryLimit(limit).into());
        }
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        // The pool has a limit of its own.
        Ok(true)
    }
}
