//! Lists that the console shows: each in Perlbal's form, from what the program says of itself.

use crate::answer::AnswerText;
use crate::naming::{is_same_server, known_pool, node, server_url};
use crate::process::{ProcessTimes, files_max, open_files};
use admin::ProgramControl;
use admin_api::{ListenerInfo, PoolInfo, PoolServer};
use std::collections::BTreeMap;
use vocab::Now;

/// Version and time.
pub(crate) fn uptime(control: &dyn ProgramControl, now: Now) -> AnswerText {
    let program = control.running(now);
    let mut answer = AnswerText::default();
    answer
        .line(&format_args!("starttime {}", (now.unix_ms / 1000).saturating_sub(program.uptime_s)));
    answer.line(&format_args!("uptime {}", program.uptime_s));
    answer.line(&format_args!("version {}", program.version));
    answer.end()
}

/// The process.
pub(crate) fn process(times: &ProcessTimes, requests: u64, now: Now) -> AnswerText {
    let (is, was) = times.sample(requests);
    let mut answer = AnswerText::default();
    answer.line(&format_args!("time: {}", now.unix_ms / 1000));
    answer.line(&format_args!("pid: {}", std::process::id()));
    answer.line(&format_args!("utime: {:.2} (+{:.2})", is.user_s, is.user_s - was.user_s));
    answer.line(&format_args!("stime: {:.2} (+{:.2})", is.system_s, is.system_s - was.system_s));
    let more = is.requests.saturating_sub(was.requests);
    answer.line(&format_args!("reqs: {} (+{more})", is.requests));
    answer.end()
}

/// Open files.
pub(crate) fn files() -> AnswerText {
    let mut answer = AnswerText::default();
    if let Some(max) = files_max() {
        answer.line(&format_args!("max {max}"));
    }
    answer.line(&format_args!("cur {}", open_files().0));
    answer.end()
}

/// Sockets.
pub(crate) fn sockets() -> AnswerText {
    let (files, sockets) = open_files();
    let mut answer = AnswerText::default();
    answer.line(&format_args!("{sockets:5} sockets"));
    answer.line(&"");
    answer.line(&format_args!("            Open files: {}", files.saturating_sub(sockets)));
    answer.end()
}

/// All pools.
pub(crate) fn pools(control: &dyn ProgramControl) -> AnswerText {
    let routes = control.setting("gateway.routes").unwrap_or_default();
    let mut answer = AnswerText::default();
    for pool in control.pools() {
        let named = routes.as_array().into_iter().flatten();
        let named = named.filter(|route| route["pool"].as_str() == Some(&pool.name)).count();
        answer.line(&format_args!("{} nodes {}", pool.name, pool.servers.len()));
        answer.line(&format_args!("{} services {named}", pool.name));
    }
    answer.end()
}

/// The servers of a pool, each with the requests it got.
pub(crate) fn pool(control: &dyn ProgramControl, name: &str) -> AnswerText {
    let pools = control.pools();
    let Some(pool) = known_pool(&pools, name) else {
        return AnswerText::error(&format_args!("pool '{name}' does not exist"));
    };
    let mut answer = AnswerText::default();
    for server in &pool.servers {
        answer.line(&format_args!("{} {}", node(&server.url), requests(server)));
    }
    answer.end()
}

/// Where services listen, by the names that the configuration gives them, else by door.
pub(crate) fn services(control: &dyn ProgramControl, now: Now) -> AnswerText {
    let (named, listeners) = (named_listeners(control), control.running(now).listeners);
    let mut answer = AnswerText::default();
    for (name, at) in &named {
        let is_open = listeners.iter().any(|it| address(it) == at);
        let state = if is_open { "ENABLED" } else { "DISABLED" };
        answer.line(&format_args!("{name} {at} {state}"));
    }
    for listener in &listeners {
        if !named.values().any(|at| at == address(listener)) {
            answer.line(&format_args!("{} {} ENABLED", listener.door, address(listener)));
        }
    }
    answer.end()
}

/// One service: a listener by its name, or a door.
pub(crate) fn service(control: &dyn ProgramControl, name: &str, now: Now) -> AnswerText {
    let named = named_listeners(control);
    let found = named.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let all = control.running(now).listeners;
    let is_own = |listener: &ListenerInfo| match found {
        Some((_, at)) => address(listener) == at,
        None => listener.door.eq_ignore_ascii_case(name),
    };
    let own: Vec<&ListenerInfo> = all.iter().filter(|it| is_own(it)).collect();
    let Some(first) = own.first() else {
        let Some((name, _)) = found else { return AnswerText::error(&"Unknown service") };
        let mut answer = AnswerText::default();
        answer.line(&format_args!("SERVICE {name}"));
        answer.line(&"     listening: --");
        return answer.end();
    };
    let shown = found.map_or(&first.door, |(name, _)| name);
    let role = match first.door.as_str() {
        "gateway" => "reverse_proxy",
        "web" => "web_server",
        other => other,
    };
    let mut answer = AnswerText::default();
    answer.line(&format_args!("SERVICE {shown}"));
    for listener in &own {
        answer.line(&format_args!("     listening: {}", address(listener)));
    }
    answer.line(&format_args!("          role: {role}"));
    if role != "reverse_proxy" {
        return answer.end();
    }
    let pools = control.pools();
    let waiting: u64 = pools.iter().map(waiting).sum();
    answer.line(&format_args!("  pend clients: {waiting}"));
    for pool in &pools {
        answer.line(&format_args!("          pool: {}", pool.name));
        answer.line(&"         nodes:");
        for server in &pool.servers {
            let node = node(&server.url);
            answer.line(&format_args!("                {node:<21} {:7}", requests(server)));
        }
    }
    answer.end()
}

/// Figures of every server, or of one.
pub(crate) fn nodes(control: &dyn ProgramControl, only: Option<&str>) -> AnswerText {
    let only = only.map(server_url);
    let mut answer = AnswerText::default();
    for server in control.pools().iter().flat_map(|pool| &pool.servers) {
        if only.as_ref().is_some_and(|only| !is_same_server(only, &server.url)) {
            continue;
        }
        let node = node(&server.url);
        answer.line(&format_args!("{node} attempts {}", requests(server)));
        answer.line(&format_args!("{node} requests {}", server.answers));
        answer.line(&format_args!("{node} failures {}", server.failures));
        answer.line(&format_args!("{node} pending {}", server.pending));
        answer.line(&format_args!("{node} latency_us {}", server.latency_us));
        answer.line(&format_args!("{node} weight {}", server.weight));
        answer.line(&format_args!("{node} state {}", server.state));
    }
    answer.end()
}

/// Requests that each server works on.
pub(crate) fn backends(control: &dyn ProgramControl) -> AnswerText {
    let mut nodes: BTreeMap<String, u64> = BTreeMap::new();
    for server in control.pools().iter().flat_map(|pool| &pool.servers) {
        *nodes.entry(node(&server.url)).or_default() += u64::from(server.pending);
    }
    let mut answer = AnswerText::default();
    for (node, pending) in nodes {
        answer.line(&format_args!("{node} {pending}"));
    }
    answer.end()
}

/// Requests that wait, by pool and priority.
pub(crate) fn queues(control: &dyn ProgramControl) -> AnswerText {
    let mut answer = AnswerText::default();
    for pool in control.pools() {
        let name = &pool.name;
        answer.line(&format_args!("{name}-normal.count {}", pool.waiting_normal));
        answer.line(&format_args!("{name}-highpri.count {}", pool.waiting_high));
        answer.line(&format_args!("{name}-lowpri.count {}", pool.waiting_low));
    }
    answer.end()
}

/// Servers and requests by state.
pub(crate) fn states(control: &dyn ProgramControl) -> AnswerText {
    let pools = control.pools();
    let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut pending = 0_u64;
    for server in pools.iter().flat_map(|pool| &pool.servers) {
        *servers.entry(&server.state).or_default() += 1;
        pending += u64::from(server.pending);
    }
    let waiting: u64 = pools.iter().map(waiting).sum();
    let mut answer = AnswerText::default();
    answer.line(&format_args!("request pending {pending}"));
    answer.line(&format_args!("request waiting {waiting}"));
    for (state, count) in servers {
        answer.line(&format_args!("server {state} {count}"));
    }
    answer.end()
}

fn requests(server: &PoolServer) -> u64 {
    server.answers.saturating_add(server.failures)
}

fn waiting(pool: &PoolInfo) -> u64 {
    pool.waiting_high + pool.waiting_normal + pool.waiting_low
}

/// Addresses of listeners by the names that the configuration gives them.
fn named_listeners(control: &dyn ProgramControl) -> BTreeMap<String, String> {
    let named = control.setting("admin.console.services").unwrap_or_default();
    let named = named.as_object().into_iter().flatten();
    named.filter_map(|(name, at)| Some((name.clone(), at.as_str()?.to_owned()))).collect()
}

/// The address of a listener without its scheme.
fn address(listener: &ListenerInfo) -> &str {
    listener.url.split_once("://").map_or(&*listener.url, |(_, address)| address)
}
