//! `geosite.dat` and `geoip.dat`: what is selected, what is refused, and bytes that are neither.

use pipeline::sets::dat::{self, BadDat, BadSelector, DatContents, DatSelector};
use pipeline::sets::{DomainKind, DomainSet, IpSet};
use vocab::Name;

/// A field of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length > 127 {
        out.push(length as u8 | 128);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
    out
}

fn number(field: u8, value: u8) -> Vec<u8> {
    vec![field << 3, value]
}

fn site(kind: u8, value: &str, attributes: &[&str]) -> Vec<u8> {
    let mut message = if kind == 0 { Vec::new() } else { number(1, kind) };
    message.extend(field(2, value.as_bytes()));
    for attribute in attributes {
        let mut inner = field(1, attribute.as_bytes());
        inner.extend(number(2, 1));
        message.extend(field(3, &inner));
    }
    message
}

fn cidr(ip: &[u8], prefix: u8) -> Vec<u8> {
    let mut message = field(1, ip);
    message.extend(number(2, prefix));
    message
}

fn entry(code: &str, rules: &[Vec<u8>]) -> Vec<u8> {
    let mut entry = field(1, code.as_bytes());
    for rule in rules {
        entry.extend(field(2, rule));
    }
    field(1, &entry)
}

fn geosite() -> Vec<u8> {
    let mut file = entry(
        "CN",
        &[
            site(2, "baidu.com", &[]),
            site(3, "www.full.cn", &["ads"]),
            site(0, "taobao", &[]),
            site(1, r"^cdn[0-9]{1,2}\.cn$", &["Cdn"]),
        ],
    );
    file.extend(entry("google", &[site(2, "google.com", &[]), site(1, "(", &[])]));
    file
}

fn geoip() -> Vec<u8> {
    let mut file = entry("cn", &[cidr(&[10, 0, 0, 0], 8), cidr(&[0x20; 16], 16)]);
    file.extend(entry("lan", &[cidr(&[192, 168, 0, 0], 16)]));
    file
}

fn selectors(texts: &[&str]) -> Vec<DatSelector> {
    texts.iter().map(|text| DatSelector::parse(text).unwrap()).collect()
}

fn read_sites(bytes: &[u8], wanted: &[&str]) -> Result<(DomainSet, DatContents), BadDat> {
    let mut builder = DomainSet::builder(7);
    let found = dat::sites(bytes, &selectors(wanted), |rule| builder.add(rule))?;
    Ok((builder.build(), found))
}

fn read_networks(bytes: &[u8], wanted: &[&str]) -> Result<(IpSet, DatContents), BadDat> {
    let mut builder = IpSet::builder();
    let found = dat::networks(bytes, &selectors(wanted), |network| builder.add_geo(network))?;
    Ok((builder.build(), found))
}

fn holds(set: &DomainSet, name: &str) -> bool {
    set.contains(Name::from_lowercase(name).unwrap())
}

#[test]
fn a_code_brings_its_names_each_in_its_kind() {
    let (set, found) = read_sites(&geosite(), &["cn"]).unwrap();
    assert_eq!((found.rules, found.skipped, found.missing.len()), (4, 0, 0));
    for name in ["baidu.com", "x.baidu.com", "www.full.cn", "mytaobaox.test", "cdn12.cn"] {
        assert!(holds(&set, name), "{name}");
    }
    for name in ["x.www.full.cn", "cdn123.cn", "google.com"] {
        assert!(!holds(&set, name), "{name}");
    }
}

#[test]
fn an_attribute_narrows_a_code() {
    let (set, found) = read_sites(&geosite(), &["CN@ADS", "cn@cdn"]).unwrap();
    assert_eq!((found.rules, found.missing.len()), (2, 0));
    assert!(holds(&set, "www.full.cn") && holds(&set, "cdn1.cn") && !holds(&set, "baidu.com"));
    let (set, found) = read_sites(&geosite(), &["cn", "cn@ads"]).unwrap();
    assert_eq!(found.rules, 4, "a name that two selectors fit is taken once");
    assert!(holds(&set, "baidu.com"));
}

#[test]
fn without_selectors_everything_is_taken_and_bad_rules_are_counted() {
    let (set, found) = read_sites(&geosite(), &[]).unwrap();
    assert_eq!((found.rules, found.skipped), (5, 1));
    assert!(found.reasons[0].starts_with("\"(\" of google: "), "{}", found.reasons[0]);
    assert!(holds(&set, "google.com") && holds(&set, "baidu.com"));
}

#[test]
fn selectors_that_fit_nothing_are_named() {
    let (_, found) = read_sites(&geosite(), &["cn", "nowhere", "google@ads"]).unwrap();
    assert_eq!(found.missing, ["nowhere", "google@ads"]);
    let (_, found) = read_networks(&geoip(), &["cn@ads", "lan"]).unwrap();
    assert_eq!(found.missing, ["cn@ads"]);
}

#[test]
fn networks_of_both_families_are_read() {
    let (set, found) = read_networks(&geoip(), &["CN"]).unwrap();
    assert_eq!(found.rules, 2);
    let holds = |address: &str| set.contains(address.parse().unwrap());
    assert!(holds("10.1.2.3") && holds("2020:1::") && !holds("192.168.0.1"));
    let (set, _) = read_networks(&geoip(), &[]).unwrap();
    assert!(set.contains("192.168.0.1".parse().unwrap()));
}

#[test]
fn the_newer_place_of_a_code_goes_before_the_older() {
    let mut inner = field(1, b"old");
    inner.extend(field(4, b"new"));
    inner.extend(field(2, &site(2, "a.test", &[])));
    let file = field(1, &inner);
    assert_eq!(read_sites(&file, &["new"]).unwrap().1.rules, 1);
    assert_eq!(read_sites(&file, &["old"]).unwrap().1.missing, ["old"]);
}

#[test]
fn a_code_that_lists_what_it_does_not_mean_is_refused() {
    let mut inner = field(1, b"cn");
    inner.extend(number(3, 1));
    inner.extend(field(2, &cidr(&[10, 0, 0, 0], 8)));
    let file = field(1, &inner);
    assert_eq!(read_networks(&file, &["cn"]).map(|_| ()), Err(BadDat::Inverse));
    assert!(read_networks(&file, &["us"]).is_ok());
}

#[test]
fn a_prefix_that_the_family_does_not_have_is_left_out() {
    let file = entry("x", &[cidr(&[10, 0, 0, 0], 33), cidr(&[10, 0, 0, 0], 24)]);
    let (_, found) = read_networks(&file, &[]).unwrap();
    assert_eq!((found.rules, found.skipped), (1, 1));
}

#[test]
fn selectors_say_what_is_wrong_with_them() {
    assert_eq!(DatSelector::parse(" @ads"), Err(BadSelector::NoCode));
    assert_eq!(DatSelector::parse("cn@ "), Err(BadSelector::NoAttribute));
    assert_eq!(DatSelector::parse(" CN @ ads ").unwrap().to_string(), "cn@ads");
}

#[test]
fn damaged_files_are_errors_and_never_more() {
    let mut word = 1u64;
    let mut next = || {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (word >> 33) as usize
    };
    for file in [geosite(), geoip()] {
        for end in 0..file.len() {
            // Whatever comes of it, it comes.
            let _ = read_sites(&file[..end], &["cn"]);
            let _ = read_networks(&file[..end], &[]);
        }
        for _ in 0..20_000 {
            let mut file = file.clone();
            for _ in 0..=next() % 4 {
                let at = next() % file.len();
                file[at] = next() as u8;
            }
            let _ = read_sites(&file, &[]);
            let _ = read_networks(&file, &[]);
        }
    }
    assert_eq!(read_sites(b"full:a.test\n", &[]).map(|_| ()), Err(BadDat::Malformed));
    assert_eq!(
        read_sites(&[10, 0xff, 0xff, 0xff, 0xff, 15], &[]).map(|_| ()),
        Err(BadDat::Malformed)
    );
    assert_eq!(read_sites(&[], &["cn"]).unwrap().1.missing, ["cn"]);
    assert_eq!(
        read_sites(&entry("x", &[site(9, "a.test", &[])]), &[]).map(|_| ()),
        Err(BadDat::Malformed)
    );
}

#[test]
fn a_rule_keeps_the_kind_it_is_given() {
    let mut kinds = Vec::new();
    dat::sites(&geosite(), &selectors(&["cn"]), |rule| {
        kinds.push(rule.kind);
        Ok(())
    })
    .unwrap();
    let expected = [DomainKind::Domain, DomainKind::Full, DomainKind::Keyword, DomainKind::Regexp];
    assert_eq!(kinds, expected);
}
