//! The catalogue of stand-ins: for which address which script is answered.
//!
//! Pages wait for the objects that well-known scripts make, and for the functions that these call
//! back; a stand-in makes the same objects, calls at once, measures and sends nothing. Each was
//! written from what its service documents of itself, and lies in `stubs/`. The table is data
//! alone, and serves no name that the policy lets pass. Called by `null`.

use vocab::Name;

macro_rules! catalogue {
    ($($stub:ident = $file:literal,)*) => {
        /// A script that stands in for a well-known one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Stub {
            $(#[doc = $file] $stub,)*
        }

        impl Stub {
            /// All, in the order of their numbers.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$stub,)*];

            /// The name of its file.
            pub(crate) const fn file_name(self) -> &'static str {
                match self {
                    $(Self::$stub => $file,)*
                }
            }

            /// Returns its source.
            pub(crate) const fn text(self) -> &'static str {
                match self {
                    $(Self::$stub => include_str!(concat!("../stubs/", $file)),)*
                }
            }
        }
    };
}

catalogue! {
    Adsbygoogle = "adsbygoogle.js",
    AmazonAds = "amazon-ads.js",
    Apstag = "apstag.js",
    AtInternet = "at-internet.js",
    BlockAdBlock = "blockadblock.js",
    Chartbeat = "chartbeat.js",
    Didomi = "didomi.js",
    Facebook = "facebook-pixel.js",
    FingerprintModule = "fingerprint-module.js",
    Fingerprint2 = "fingerprint2.js",
    Fingerprint3 = "fingerprint3.js",
    FreeWheel = "freewheel.js",
    Gemius = "gemius.js",
    GoogleAnalytics = "google-analytics.js",
    GoogleAnalyticsClassic = "google-analytics-ga.js",
    GoogleExperiments = "google-experiments.js",
    GooglePublisherTag = "googletag-gpt.js",
    GoogleTagManager = "googletagmanager.js",
    Hotjar = "hotjar.js",
    Ima = "ima3.js",
    Matomo = "matomo.js",
    Metrika = "metrika.js",
    Mixpanel = "mixpanel.js",
    Naver = "naver.js",
    NitroPay = "nitropay.js",
    Outbrain = "outbrain.js",
    Pardot = "pardot.js",
    Piano = "piano.js",
    Popads = "popads.js",
    Prebid = "prebid.js",
    Scorecard = "scorecard.js",
    Segment = "segment.js",
    Sensors = "sensors.js",
    Taboola = "taboola.js",
}

impl Stub {
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// Tells what a path must be like, its query left aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StubPath {
    Any,
    Is(&'static str),
    Prefix(&'static str),
    Suffix(&'static str),
}

impl StubPath {
    fn matches(self, path: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Is(whole) => path == whole,
            Self::Prefix(start) => path.starts_with(start),
            Self::Suffix(end) => path.ends_with(end),
        }
    }
}

use StubPath::{Any, Is, Prefix, Suffix};

/// By host, which stands for all below it, sorted; the first of a host that matches counts.
const STUBS_BY_URL: &[(&str, StubPath, Stub)] = &[
    ("c.amazon-adsystem.com", Suffix("/amzn_ads.js"), Stub::AmazonAds),
    ("c.amazon-adsystem.com", Suffix("/apstag.js"), Stub::Apstag),
    ("cdn.mxpnl.com", Any, Stub::Mixpanel),
    ("cdn.segment.com", Prefix("/analytics.js/"), Stub::Segment),
    ("cdn.taboola.com", Suffix("/loader.js"), Stub::Taboola),
    ("cdn.tinypass.com", Prefix("/api/tinypass"), Stub::Piano),
    ("cdn4.mxpnl.com", Any, Stub::Mixpanel),
    ("connect.facebook.net", Suffix("/fbevents.js"), Stub::Facebook),
    ("fpcdn.io", Suffix("/iife.min.js"), Stub::Fingerprint3),
    ("fpcdn.io", Any, Stub::FingerprintModule),
    ("fpjscdn.net", Suffix("/iife.min.js"), Stub::Fingerprint3),
    ("fpjscdn.net", Any, Stub::FingerprintModule),
    ("fwmrm.net", Suffix("/AdManager.js"), Stub::FreeWheel),
    ("gemius.pl", Suffix("/gplayer.js"), Stub::Gemius),
    ("gemius.pl", Suffix("/xgemius.js"), Stub::Gemius),
    ("google-analytics.com", Is("/analytics.js"), Stub::GoogleAnalytics),
    ("google-analytics.com", Is("/analytics_debug.js"), Stub::GoogleAnalytics),
    ("google-analytics.com", Is("/cx/api.js"), Stub::GoogleExperiments),
    ("google-analytics.com", Is("/ga.js"), Stub::GoogleAnalyticsClassic),
    ("google-analytics.com", Prefix("/gtm/js"), Stub::GoogleTagManager),
    ("google-analytics.com", Is("/urchin.js"), Stub::GoogleAnalyticsClassic),
    ("googlesyndication.com", Suffix("/adsbygoogle.js"), Stub::Adsbygoogle),
    ("googlesyndication.com", Suffix("/gpt.js"), Stub::GooglePublisherTag),
    ("googletagmanager.com", Any, Stub::GoogleTagManager),
    ("googletagservices.com", Suffix("/gpt.js"), Stub::GooglePublisherTag),
    ("imasdk.googleapis.com", Any, Stub::Ima),
    ("mc.webvisor.org", Prefix("/metrika/"), Stub::Metrika),
    ("mc.yandex.com", Prefix("/metrika/"), Stub::Metrika),
    ("mc.yandex.ru", Prefix("/metrika/"), Stub::Metrika),
    ("openfpcdn.io", Suffix("/iife.min.js"), Stub::Fingerprint3),
    ("openfpcdn.io", Suffix("/umd.min.js"), Stub::Fingerprint3),
    ("openfpcdn.io", Any, Stub::FingerprintModule),
    ("pi.pardot.com", Suffix("/pd.js"), Stub::Pardot),
    ("popads.net", Any, Stub::Popads),
    ("s.nitropay.com", Prefix("/ads-"), Stub::NitroPay),
    ("sb.scorecardresearch.com", Any, Stub::Scorecard),
    ("scorecardresearch.com", Suffix(".js"), Stub::Scorecard),
    ("sdk.privacy-center.org", Any, Stub::Didomi),
    ("securepubads.g.doubleclick.net", Suffix("/gpt.js"), Stub::GooglePublisherTag),
    ("ssl.google-analytics.com", Is("/ga.js"), Stub::GoogleAnalyticsClassic),
    ("static.chartbeat.com", Any, Stub::Chartbeat),
    ("static.hotjar.com", Any, Stub::Hotjar),
    ("static.sensorsdata.cn", Any, Stub::Sensors),
    ("tag.aticdn.net", Any, Stub::AtInternet),
    ("wcs.naver.com", Suffix(".js"), Stub::Naver),
    ("wcs.naver.net", Suffix(".js"), Stub::Naver),
    ("widgets.outbrain.com", Suffix("/outbrain.js"), Stub::Outbrain),
];

/// By the file's name, wherever it lies: scripts that sites keep themselves or take from a CDN.
const FILES: &[(&str, Stub)] = &[
    ("adsbygoogle.js", Stub::Adsbygoogle),
    ("amzn_ads.js", Stub::AmazonAds),
    ("apstag.js", Stub::Apstag),
    ("blockadblock.js", Stub::BlockAdBlock),
    ("chartbeat.js", Stub::Chartbeat),
    ("chartbeat_mab.js", Stub::Chartbeat),
    ("fbevents.js", Stub::Facebook),
    ("fingerprint2.js", Stub::Fingerprint2),
    ("fingerprint2.min.js", Stub::Fingerprint2),
    ("fp.js", Stub::Fingerprint3),
    ("fp.min.js", Stub::Fingerprint3),
    ("fuckadblock.js", Stub::BlockAdBlock),
    ("fuckadblock.min.js", Stub::BlockAdBlock),
    ("gpt.js", Stub::GooglePublisherTag),
    ("gtag.js", Stub::GoogleTagManager),
    ("gtm.js", Stub::GoogleTagManager),
    ("ima3.js", Stub::Ima),
    ("ima3_dai.js", Stub::Ima),
    ("matomo.js", Stub::Matomo),
    ("mixpanel-2-latest.min.js", Stub::Mixpanel),
    ("mixpanel.min.js", Stub::Mixpanel),
    ("piwik.js", Stub::Matomo),
    ("prebid.js", Stub::Prebid),
    ("prebid.min.js", Stub::Prebid),
    ("sensorsdata.full.js", Stub::Sensors),
    ("sensorsdata.min.js", Stub::Sensors),
    ("smarttag.js", Stub::AtInternet),
    ("wcslog.js", Stub::Naver),
    ("xgemius.js", Stub::Gemius),
];

/// The stand-in for the script at this address, if it is a well-known one.
pub(crate) fn find(host: Name<'_>, path: &str) -> Option<Stub> {
    stub_for_url(host, path).or_else(|| by_file(path))
}

fn stub_for_url(host: Name<'_>, path: &str) -> Option<Stub> {
    let up = std::iter::successors(Some(host), |name| name.parent());
    // The root and top-level domains stand in no table.
    up.take_while(|name| name.as_str().contains('.')).find_map(|name| {
        let first = STUBS_BY_URL.partition_point(|(known, _, _)| *known < name.as_str());
        let here = STUBS_BY_URL[first..].iter().take_while(|(known, _, _)| *known == name.as_str());
        here.into_iter().find(|(_, of, _)| of.matches(path)).map(|(_, _, stub)| *stub)
    })
}

fn by_file(path: &str) -> Option<Stub> {
    let file = path.rsplit('/').next().unwrap_or(path);
    let found = FILES.binary_search_by(|(known, _)| (*known).cmp(file)).ok();
    // Builds of Prebid carry their modules and versions in the name.
    let is_build = |it: &str| it.starts_with("prebid") && http_engine::kind::extension(it) == "js";
    let prebid = || is_build(file).then_some(Stub::Prebid);
    found.map(|at| FILES[at].1).or_else(prebid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted() {
        assert!(STUBS_BY_URL.is_sorted_by_key(|(host, _, _)| host));
        assert!(FILES.is_sorted_by_key(|(file, _)| file));
    }

    #[test]
    fn every_stub_has_a_place_or_a_name() {
        for stub in Stub::ALL {
            let is_placed = STUBS_BY_URL.iter().any(|(_, _, it)| it == stub);
            assert!(is_placed || FILES.iter().any(|(_, it)| it == stub), "{stub:?}");
        }
    }

    #[test]
    fn a_stub_is_found_by_host_and_path_or_by_its_files_name() {
        let check = |host: &'static str, path: &str, expected: Option<Stub>| {
            let host = Name::from_lowercase(host).unwrap();
            assert_eq!(find(host, path), expected, "{host:?} {path}");
        };
        check("www.google-analytics.com", "/analytics.js", Some(Stub::GoogleAnalytics));
        check("www.google-analytics.com", "/collect", None);
        check("www.googletagmanager.com", "/gtag/js", Some(Stub::GoogleTagManager));
        check("securepubads.g.doubleclick.net", "/tag/js/gpt.js", Some(Stub::GooglePublisherTag));
        check(
            "pagead2.googlesyndication.com",
            "/pagead/js/adsbygoogle.js",
            Some(Stub::Adsbygoogle),
        );
        check("stats.shop.example", "/matomo.js", Some(Stub::Matomo));
        check("cdn.shop.example", "/a/prebid8.31.0.js", Some(Stub::Prebid));
        check("a1.hit.gemius.pl", "/gplayer.js", Some(Stub::Gemius));
        check("mssl.fwmrm.net", "/libs/adm/6.24.0/AdManager.js", Some(Stub::FreeWheel));
        check("s.nitropay.com", "/ads-123.js", Some(Stub::NitroPay));
        check("notgoogle-analytics.com", "/analytics.js", None);
        check("ads.example", "/x.js", None);
        check("ads.example", "/", None);
    }
}
