//! `tidegate why`: the verdict and its reasoning, without a running process; and where one runs, what it
//! has stored, and what its gateway does.

use super::{Exit, Failure, Setup, WhyArgs, ctl};
use crate::app;
use admin::Question;
use admin::model::Why;
use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::path::Path;
use vocab::{DomainName, Door, Kind};

/// Explains what the policy of this configuration says.
pub(super) fn why(setup: &Setup, args: &WhyArgs) -> Result<(), Failure> {
    let question = question(args)?;
    let page = match &args.page {
        None => None,
        Some(text) => Some(DomainName::parse(text).map_err(|why| {
            Failure::new(Exit::Wrong, format!("{text:?} is no page's host: {why}"))
        })?),
    };
    let plan = setup.plan()?;
    let (policy, _) = app::compile(&plan, &setup.state_dir(&plan), None)?;
    let page = page.as_ref().map(DomainName::as_name);
    let mut why = app::why::why(&policy, &plan, &question, page, transport::clock::now());
    // A page is nothing that the running process is told of.
    if question.url.is_some()
        && let Some(running) = running(&setup.state_dir(&plan), &why)
    {
        why.stored = running.stored;
        why = app::why::as_the_gateway_does(why, running.gateway);
    }
    if args.json {
        let json =
            serde_json::to_string_pretty(&why).map_err(|error| Failure::new(Exit::Fault, error))?;
        println!("{json}");
    } else {
        print(&why);
    }
    Ok(())
}

/// What the process that runs, if one does, says of the same URL. The question is answered without it.
fn running(state: &Path, why: &Why) -> Option<Why> {
    let target = utf8_percent_encode(&why.target, NON_ALPHANUMERIC);
    let (client, kind, door) = (&why.client, &why.kind, &why.door);
    let path = format!("/api/why?target={target}&client={client}&kind={kind}&door={door}");
    let (_, told) = ctl::ask(state, Method::GET, &path, None).ok()?;
    serde_json::from_value(told).ok()
}

/// What is asked, in the words of the API.
fn question(args: &WhyArgs) -> Result<Question, Failure> {
    let wrong = |message: String| Failure::new(Exit::Wrong, message);
    let url = args.target.contains("://").then(|| args.target.clone());
    let host = match &url {
        Some(url) => host_of(url).ok_or_else(|| wrong(format!("{url:?} has no host")))?,
        None => &args.target,
    };
    // A URL has no root for its host.
    let parse = if url.is_some() { DomainName::parse } else { DomainName::parse_or_root };
    let host = parse(host).map_err(|why| wrong(format!("{host:?} is no domain name: {why}")))?;
    let kind = match &args.kind {
        Some(word) => word.parse().map_err(|why| {
            wrong(format!("{why}: --kind takes a record type or script, image, document, fetch …"))
        })?,
        None if url.is_some() => Kind::Document,
        None => Kind::Lookup(1),
    };
    let door = match &args.door {
        Some(word) => word.parse().map_err(|why| {
            wrong(format!("{why}: --door takes dns, pixel, proxy, web or gateway"))
        })?,
        None if url.is_some() => Door::Proxy,
        None => Door::Dns,
    };
    Ok(Question { host, url, client: args.client, kind, door })
}

/// The host of an absolute URL, without user and port.
fn host_of(url: &str) -> Option<&str> {
    let rest = url.split_once("://")?.1;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let host_port = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host_port.rsplit_once(':').map_or(host_port, |(host, _)| host);
    (!host.is_empty()).then_some(host)
}

fn print(why: &Why) {
    println!("{}", why.summary);
    println!("  target   {} ({})", why.target, why.kind);
    println!("  client   {} (profile {})", why.client, why.profile);
    println!("  door     {}: {}", why.door, why.door_outcome);
    if let Some(changed) = &why.list_changed_at {
        println!("  list     unchanged since {changed}");
    }
    for variant in &why.stored {
        println!("  stored   {variant}");
    }
    let others: Vec<_> = why.matches.iter().filter(|found| !found.decides).collect();
    if !others.is_empty() {
        println!("  also matched:");
    }
    for found in others {
        let rule = &found.rule;
        println!("    {} (list {:?}, line {}) {}", rule.text, rule.list, rule.line, found.note);
    }
}
