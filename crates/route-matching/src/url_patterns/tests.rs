//! What patterns match, and what is refused.

use super::*;

fn patterns(text: &str) -> PatternSet {
    PatternSet::compile(text.lines()).unwrap()
}

#[test]
fn a_plain_pattern_is_found_anywhere_in_any_case_and_encoding() {
    let patterns = patterns("# attacks\n/.env\n\n/wp-login.php\n../\n");
    assert_eq!(patterns.len(), 3);
    assert_eq!(patterns.hit("/.env"), Some(2));
    assert_eq!(patterns.hit("/app/.ENV?x"), Some(2));
    assert_eq!(patterns.hit("/%2eenv"), Some(2));
    assert_eq!(patterns.hit("/blog/WP-Login.php"), Some(4));
    assert_eq!(patterns.hit("/?file=..%2f..%2fetc"), Some(5));
    assert_eq!(patterns.hit("/environment"), None);
    assert_eq!(patterns.text(4), Some("/wp-login.php"));
    assert_eq!(patterns.hits().next(), Some((2, "/.env", 3)));
}

#[test]
fn stars_and_anchors_hold() {
    let patterns = patterns("|/admin\n.bak|\n/cgi-bin/*.sh?*cmd=\n|/exact|\n|*/any|");
    assert_eq!(patterns.hit("/administrator"), Some(1));
    assert_eq!(patterns.hit("/x/admin"), None);
    assert_eq!(patterns.hit("/site.bak"), Some(2));
    assert_eq!(patterns.hit("/site.bak.html"), None);
    assert_eq!(patterns.hit("/cgi-bin/a/b.sh?x=1&cmd=ls"), Some(3));
    assert_eq!(patterns.hit("/cgi-bin/cmd="), None);
    assert_eq!(patterns.hit("/exact"), Some(4));
    assert_eq!(patterns.hit("/exact/x"), None);
    assert_eq!(patterns.hit("/deep/any"), Some(5));
}

#[test]
fn an_end_is_an_end_whatever_servers_pass_over_there() {
    let patterns = patterns(".bak|\n|/exact|\n/a*b/|\n?cmd=ls|");
    for url in [
        "/x/a.bak",
        "/x/a.bak?",
        "/x/a.bak?x",
        "/x/a.bak?x=.html",
        "/x/a.bak/",
        "/x/a.bak//",
        "/x/a.bak%20",
        "/x/a.bak%20%20/?x",
        "/x/a.BAK.",
        "/x/a.bak./.",
        "/x/a%3Fb.bak%20?q",
        "/x/a.bak%2F",
        "/x/a.bak%5c",
        "/?file=a.bak",
        "/?file=a.bak&",
    ] {
        assert_eq!(patterns.hit(url), Some(1), "{url}");
    }
    for url in ["/exact?", "/exact/", "/EXACT%20", "/exact.?a=b"] {
        assert_eq!(patterns.hit(url), Some(2), "{url}");
    }
    for url in ["/a1b/", "/a1b//?x", "/ab/./"] {
        assert_eq!(patterns.hit(url), Some(3), "{url}");
    }
    for url in ["/?cmd=ls", "/x?cmd=ls%20", "/x?cmd=ls&", "/x?cmd=ls+"] {
        assert_eq!(patterns.hit(url), Some(4), "{url}");
    }
    for url in
        ["/a.bakx", "/bak", "/a.bak/x", "/x/exact", "/exactly", "/a1b", "/x?cmd=lsof", "/a.baK%21"]
    {
        assert_eq!(patterns.hit(url), None, "{url}");
    }
}

#[test]
fn a_pattern_that_matches_all_is_refused() {
    for line in ["*", "|", "||", "**", "/", "|/*"] {
        assert_eq!(check_pattern_line(line), Err(BadUrlPattern::MatchesAll), "{line}");
    }
    assert_eq!(check_pattern_line("|/|"), Ok(()));
    assert_eq!(check_pattern_line(&"x".repeat(PATTERN_BYTES_MAX + 1)), Err(BadUrlPattern::TooLong));
    let compiled = PatternSet::compile(["/a", "*"].into_iter());
    let expected = PatternsError::Line { line: 2, why: BadUrlPattern::MatchesAll };
    assert_eq!(compiled.unwrap_err(), expected);
}

#[test]
fn a_long_url_of_one_letter_is_held_against_a_pattern_once() {
    let patterns = patterns("a*b|\naa*aa*c|");
    let started = std::time::Instant::now();
    assert_eq!(patterns.hit(&"a".repeat(64 << 10)), None);
    assert_eq!(
        patterns.hit(&format!("/aa{}?{}", ".%20/".repeat(8 << 10), "&+".repeat(8 << 10))),
        None
    );
    // Once each is microseconds; the square of the length would be minutes.
    assert!(started.elapsed().as_secs() < 10);
}

#[test]
fn expressions_match_in_any_case_and_encoding() {
    let patterns = patterns("~/wp-(admin|login)[0-9]*\\.php$\n~^/[a-z]{40}$\n~\\.(bak|old)$");
    assert_eq!(patterns.hit("/WP-admin12.PHP"), Some(1));
    assert_eq!(patterns.hit("/wp%2dlogin.php"), Some(1));
    assert_eq!(patterns.hit("/wp-login.php?x"), None);
    assert_eq!(patterns.hit(&format!("/{}", "x".repeat(40))), Some(2));
    assert_eq!(patterns.hit("/site.old"), Some(3));
    assert_eq!(patterns.text(1), Some("~/wp-(admin|login)[0-9]*\\.php$"));
}

#[test]
fn expressions_that_hurt_are_refused() {
    for line in ["~", "~.*", "~a*", "~^/", "~^/.*"] {
        assert_eq!(check_pattern_line(line), Err(BadUrlPattern::MatchesAll), "{line}");
    }
    for line in ["~(", "~(?=x)", "~(a)\\1", "~((((a{100}){100}){100}){100})"] {
        assert!(matches!(check_pattern_line(line), Err(BadUrlPattern::Regex(_))), "{line}");
    }
    let bare = |count: usize| {
        let lines: Vec<String> = (0..count).map(|at| format!("~^/[a-z]{{{}}}$", at + 1)).collect();
        PatternSet::compile(lines.iter().map(String::as_str))
    };
    assert!(bare(REGEXES_BARE_MAX).is_ok());
    assert!(matches!(bare(REGEXES_BARE_MAX + 1), Err(PatternsError::TooManyBareRegexes(_))));
}

#[test]
fn every_pattern_of_many_is_found_and_nothing_else() {
    let lines: Vec<String> = (0..20_000)
        .map(|at| match at % 5 {
            0 => format!("/attack-{at}/x"),
            1 => format!("|/dir{at}/*.PHP"),
            2 => format!("q{at}=*&x={at}|"),
            3 => format!("~/re{at}/[0-9]+$"),
            _ => format!("{at:05}"),
        })
        .collect();
    let patterns = PatternSet::compile(lines.iter().map(String::as_str)).unwrap();
    for at in (0..20_000).step_by(77) {
        let url = match at % 5 {
            0 => format!("/a/ATTACK-{at}/xyz"),
            1 => format!("/dir{at}/shell.php5"),
            2 => format!("/?q{at}=1&x={at}"),
            3 => format!("/re{at}/12"),
            _ => format!("/-{at:05}-"),
        };
        assert_eq!(patterns.hit(&url), Some(at + 1), "{url}");
    }
    for url in ["/", "/index.html", "/attack-/x", "/dir1/x.asp", "/re3/", "/re3/1x", "/?q2=1&x=3"] {
        assert_eq!(patterns.hit(url), None, "{url}");
    }
}

#[test]
fn the_shortest_patterns_are_found() {
    let patterns = patterns("%\n;;\n../\n~~~~\n*~*x");
    for (url, line) in [("/a%", 1), ("/;;", 2), ("/a../", 3), ("/a~bx", 5)] {
        assert_eq!(patterns.hit(url), Some(line), "{url}");
    }
    assert_eq!(patterns.hit("/;a;.."), None);
}
