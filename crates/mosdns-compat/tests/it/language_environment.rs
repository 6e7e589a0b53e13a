//! Variables of the environment in OxiDNS files.

use crate::foreign;

use foreign::one::check;
use foreign::{Disk, lines, yaml};
use mosdns_compat::language::{self, Dialect, Executor, ForeignFile, OutwardEffect, PluginKind};

fn disk() -> Disk {
    Disk {
        files: [(
            "home/sets/more.yaml",
            "plugins: [ { tag: '${TAG}', type: sequence, args: [ { exec: accept } ] } ]",
        )]
        .into(),
        variables: [
            ("UP", "192.0.2.1"),
            ("EMPTY", ""),
            ("SECRET", "*a: #b\n\"c"),
            ("NUMBER", "2"),
            ("NOTHING", "null"),
            ("FOLDER", "sets"),
            ("TAG", "more"),
            ("qname", "from-outside"),
        ]
        .into(),
    }
}

fn read(text: &str) -> Result<ForeignFile, Vec<String>> {
    language::read(&yaml(text), &disk()).map_err(|all| lines(&all))
}

/// What a `debug_print` of this text prints.
fn printed(text: &str) -> String {
    let file = format!("plugins: [ {{ tag: p, type: debug_print, args: {text} }} ]");
    match read(&file).unwrap().plugins.swap_remove(0).kind {
        PluginKind::Executor(Executor::DebugPrint(line)) => line,
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_take_what_the_environment_has_or_what_stands_instead() {
    assert_eq!(printed("'at ${UP}:${UP} now'"), "at 192.0.2.1:192.0.2.1 now");
    assert_eq!(printed("'${GONE:-none}${EMPTY:-empty}${UP:-none}'"), "noneempty192.0.2.1");
    assert_eq!(printed("'${GONE:-a:-b} ${env:UP} ${env:GONE:-c}'"), "a:-b 192.0.2.1 c");
    // Nothing of a value is read as YAML, or as a variable again.
    assert_eq!(printed("'<${SECRET}>'"), "<*a: #b\n\"c>");
    assert_eq!(printed("'<${EMPTY}>'"), "<>");
}

#[test]
fn what_is_filled_in_later_and_what_is_escaped_stays() {
    assert_eq!(printed("'${qname} ${client_ip}'"), "${qname} ${client_ip}");
    assert_eq!(printed("'${env:qname} ${qname:-x}'"), "from-outside from-outside");
    assert_eq!(printed("'$${UP} $$ $ a$b'"), "${UP} $$ $ a$b");
    let script = "plugins: [ { tag: s, type: script, args: { command: x, args: [ '${qname}', \
                  '${UP}' ] } } ]";
    match &read(script).unwrap().plugins[0].kind {
        PluginKind::Executor(Executor::Outward(OutwardEffect::Script(it))) => {
            assert_eq!(it.args, ["${qname}", "192.0.2.1"]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_value_that_is_all_of_a_text_is_a_number_or_nothing_where_it_looks_so() {
    let file = "plugins: [ { tag: f, type: forward, args: { concurrent: '${NUMBER}', \
                upstreams: [ { addr: '${UP}', timeout: '${GONE:-3s}' }, { addr: 192.0.2.2, \
                bootstrap: '${NOTHING}' } ] } } ]";
    let read = read(file).unwrap();
    let PluginKind::Executor(Executor::Forward(it)) = &read.plugins[0].kind else { panic!() };
    assert_eq!((it.concurrent, it.upstreams[0].address.as_str()), (2, "udp://192.0.2.1:53"));
    assert_eq!(it.upstreams[1].bootstrap, None);
}

#[test]
fn what_is_missing_is_named_with_its_place() {
    let file = "runtime: {}\nplugins:\n  - { tag: f, type: forward, args: { upstreams: [ \
                { addr: '${ADDRESS}', socks5: '${}' }, { addr: '${HALF' } ] } }";
    let told = read(file).unwrap_err();
    assert_eq!(
        told,
        [
            "plugins.0.args.upstreams.0.addr: the environment has no variable \"ADDRESS\"; \
             set it, or write ${ADDRESS:-VALUE}",
            "plugins.0.args.upstreams.0.socks5: no variable is named in ${}; \
             write ${NAME}, or $${} for the text itself",
            "plugins.0.args.upstreams.1.addr: a } is missing behind ${",
        ]
    );
}

#[test]
fn included_files_and_their_paths_have_variables_too() {
    let file = "include: [ '${FOLDER}/more.yaml' ]\nruntime: {}\n\
                plugins: [ { tag: own, type: sequence, args: [ { exec: accept } ] } ]";
    let read = read(file).unwrap();
    let tags: Vec<_> = read.plugins.iter().map(|it| it.tag.as_str()).collect();
    assert_eq!(tags, ["more", "own"]);
}

#[test]
fn a_file_that_names_one_is_a_file_of_oxidns_and_mosdns_has_none() {
    let plain = "plugins: [ { tag: s, type: domain_set, args: { exps: [ 'NAME' ] } } ]";
    let dialect = |name: &str| read(&plain.replace("NAME", name)).unwrap().dialect;
    assert_eq!(dialect("${GONE:-a.test}"), Dialect::Oxidns);
    assert_eq!(dialect("regexp:^a${1}"), Dialect::Mosdns);
    assert_eq!(dialect("a.test"), Dialect::Mosdns);
    let told =
        read("log: { level: '${LEVEL}' }\nplugins: [ { tag: s, type: sequence, args: [] } ]");
    check(&told.unwrap_err()[0], "log.level: the environment has no variable \"LEVEL\"");
}

#[test]
fn texts_that_would_grow_without_bound_are_refused() {
    let many = "${SECRET}".repeat(20_000);
    let file = format!("plugins: [ {{ tag: p, type: debug_print, args: '{many}' }} ]");
    check(&read(&file).unwrap_err()[0], "too long with its variables");
}
