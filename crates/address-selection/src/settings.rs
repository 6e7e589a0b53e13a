//! Settings of one selector: measuring and choosing.
//!
//! Plain data with OxiDNS's defaults; its bounds are kept by whoever reads a file.

use resolver::SocksProxy;
use std::time::Duration;

/// Settings of one selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorSettings {
    /// Choice among addresses that are not known yet.
    pub mode: SelectionMode,
    /// Ways to measure, in order of preference. Without one nothing is measured.
    pub methods: Vec<ProbeMethod>,
    /// Proxy that TCP goes through.
    pub socks5: Option<SocksProxy>,
    /// Time between the beginnings of two methods.
    pub stagger: Duration,
    /// Time that one attempt has.
    pub timeout: Duration,
    /// Time that an answer waits, at most.
    pub max_wait: Duration,
    /// Addresses that stay; 0: all.
    pub keep: usize,
    /// Treatment of answers that are signed.
    pub signed: SignedPolicy,
    /// Attempts at once, at most; beyond it an address stays unknown.
    pub parallel: usize,
    /// Which addresses are tried.
    pub scope: ProbeScope,
    /// Memory of measured addresses.
    pub memory: ScoreMemory,
}

/// Choice among addresses that are not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectionMode {
    /// The first that lets us connect.
    FirstSuccess,
    /// The soonest of those that do within the time.
    BestWithinBudget,
    /// The answer goes as it came, and is measured for those that follow.
    Background,
}

/// A way to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeMethod {
    /// A connection to this port.
    Tcp(u16),
    /// An ICMP echo.
    Ping,
}

/// Tells what happens to answers that are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedPolicy {
    /// They are put in order, and nothing is left out.
    OrderOnly,
    /// They stay as they came.
    Leave,
}

/// Which addresses are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeScope {
    /// Addresses that mean the same host everywhere. The owner of a name chooses its addresses, and
    /// could otherwise have us connect to hosts inside.
    Public,
    /// Private ones and this machine's too.
    Any,
}

/// Memory of measured addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreMemory {
    /// Addresses, at most.
    pub entries: usize,
    /// Time for which a measured one is believed.
    pub success: Duration,
    /// The same of one that let nobody in.
    pub failure: Duration,
}

impl Default for SelectorSettings {
    fn default() -> Self {
        Self {
            mode: SelectionMode::FirstSuccess,
            methods: vec![ProbeMethod::Tcp(443), ProbeMethod::Tcp(80)],
            socks5: None,
            stagger: Duration::from_millis(200),
            timeout: Duration::from_millis(600),
            max_wait: Duration::from_secs(1),
            keep: 1,
            signed: SignedPolicy::OrderOnly,
            parallel: 256,
            scope: ProbeScope::Public,
            memory: ScoreMemory::default(),
        }
    }
}

impl Default for ScoreMemory {
    fn default() -> Self {
        Self { entries: 4096, success: Duration::from_hours(1), failure: Duration::from_mins(1) }
    }
}
