//! Stand-ins that rules name: `$redirect=noop.js` and its like in lists.
//!
//! The names are those that uBlock Origin and AdGuard document for their resources, old ones
//! included. What is not known gets the answer that its type would get. A table, and no more. Called
//! by `null`.

use crate::null::{Blank, Null};
use crate::stubs::Stub;

/// Sorted by name.
const NAMES: &[(&str, Null<'static>)] = &[
    ("1x1-transparent.gif", Null::Blank(Blank::Bitmap)),
    ("1x1.gif", Null::Blank(Blank::Bitmap)),
    ("2x2-transparent.png", Null::Blank(Blank::Png2x2)),
    ("2x2.png", Null::Blank(Blank::Png2x2)),
    ("32x32-transparent.png", Null::Blank(Blank::Png32x32)),
    ("32x32.png", Null::Blank(Blank::Png32x32)),
    ("3x2-transparent.png", Null::Blank(Blank::Png3x2)),
    ("3x2.png", Null::Blank(Blank::Png3x2)),
    ("adsbygoogle.js", Null::Stub(Stub::Adsbygoogle)),
    ("amazon-adsystem.com/aax2/amzn_ads.js", Null::Stub(Stub::AmazonAds)),
    ("amazon-apstag", Null::Stub(Stub::Apstag)),
    ("amazon_ads.js", Null::Stub(Stub::AmazonAds)),
    ("amazon_apstag.js", Null::Stub(Stub::Apstag)),
    ("ati-smarttag", Null::Stub(Stub::AtInternet)),
    ("bab-defuser.js", Null::Stub(Stub::BlockAdBlock)),
    ("blank-css", Null::Blank(Blank::Style)),
    ("blank-html", Null::Blank(Blank::Frame)),
    ("blank-js", Null::Blank(Blank::Script)),
    ("blank-mp3", Null::Blank(Blank::Sound)),
    ("blank-mp4", Null::Blank(Blank::Film)),
    ("blank-text", Null::Blank(Blank::Text)),
    ("chartbeat.js", Null::Stub(Stub::Chartbeat)),
    ("click2load.html", Null::Blank(Blank::ClickToLoad)),
    ("didomi-loader", Null::Stub(Stub::Didomi)),
    ("empty", Null::Blank(Blank::Text)),
    ("fingerprint2.js", Null::Stub(Stub::Fingerprint2)),
    ("fingerprint3.js", Null::Stub(Stub::Fingerprint3)),
    ("fingerprintjs2", Null::Stub(Stub::Fingerprint2)),
    ("fingerprintjs3", Null::Stub(Stub::Fingerprint3)),
    ("freewheel-admanager", Null::Stub(Stub::FreeWheel)),
    ("fuckadblock.js-3.2.0", Null::Stub(Stub::BlockAdBlock)),
    ("gemius", Null::Stub(Stub::Gemius)),
    ("google-analytics", Null::Stub(Stub::GoogleAnalytics)),
    ("google-analytics-ga", Null::Stub(Stub::GoogleAnalyticsClassic)),
    ("google-analytics.com/analytics.js", Null::Stub(Stub::GoogleAnalytics)),
    ("google-analytics.com/ga.js", Null::Stub(Stub::GoogleAnalyticsClassic)),
    ("google-analytics_analytics.js", Null::Stub(Stub::GoogleAnalytics)),
    ("google-analytics_cx_api.js", Null::Stub(Stub::GoogleExperiments)),
    ("google-analytics_ga.js", Null::Stub(Stub::GoogleAnalyticsClassic)),
    ("google-ima.js", Null::Stub(Stub::Ima)),
    ("google-ima3", Null::Stub(Stub::Ima)),
    ("googlesyndication-adsbygoogle", Null::Stub(Stub::Adsbygoogle)),
    ("googlesyndication.com/adsbygoogle.js", Null::Stub(Stub::Adsbygoogle)),
    ("googlesyndication_adsbygoogle.js", Null::Stub(Stub::Adsbygoogle)),
    ("googletagmanager-gtm", Null::Stub(Stub::GoogleTagManager)),
    ("googletagmanager.com/gtm.js", Null::Stub(Stub::GoogleTagManager)),
    ("googletagmanager_gtm.js", Null::Stub(Stub::GoogleTagManager)),
    ("googletagservices-gpt", Null::Stub(Stub::GooglePublisherTag)),
    ("googletagservices.com/gpt.js", Null::Stub(Stub::GooglePublisherTag)),
    ("googletagservices_gpt.js", Null::Stub(Stub::GooglePublisherTag)),
    ("matomo", Null::Stub(Stub::Matomo)),
    ("metrika-yandex-tag", Null::Stub(Stub::Metrika)),
    ("metrika-yandex-watch", Null::Stub(Stub::Metrika)),
    ("naver-wcslog", Null::Stub(Stub::Naver)),
    ("nitropay_ads.js", Null::Stub(Stub::NitroPay)),
    ("nobab.js", Null::Stub(Stub::BlockAdBlock)),
    ("nofab.js", Null::Stub(Stub::BlockAdBlock)),
    ("noop-0.1s.mp3", Null::Blank(Blank::Sound)),
    ("noop-1s.mp4", Null::Blank(Blank::Film)),
    ("noop-vast2.xml", Null::Blank(Blank::Vast2)),
    ("noop-vast3.xml", Null::Blank(Blank::Vast3)),
    ("noop-vast4.xml", Null::Blank(Blank::Vast4)),
    ("noop-vmap1.xml", Null::Blank(Blank::Vmap)),
    ("noop.css", Null::Blank(Blank::Style)),
    ("noop.html", Null::Blank(Blank::Frame)),
    ("noop.js", Null::Blank(Blank::Script)),
    ("noop.json", Null::Blank(Blank::Json)),
    ("noop.txt", Null::Blank(Blank::Text)),
    ("noopcss", Null::Blank(Blank::Style)),
    ("noopframe", Null::Blank(Blank::Frame)),
    ("noopjs", Null::Blank(Blank::Script)),
    ("noopjson", Null::Blank(Blank::Json)),
    ("noopmp3-0.1s", Null::Blank(Blank::Sound)),
    ("noopmp4-1s", Null::Blank(Blank::Film)),
    ("nooptext", Null::Blank(Blank::Text)),
    ("noopvast-2.0", Null::Blank(Blank::Vast2)),
    ("noopvast-3.0", Null::Blank(Blank::Vast3)),
    ("noopvast-4.0", Null::Blank(Blank::Vast4)),
    ("noopvmap-1.0", Null::Blank(Blank::Vmap)),
    ("outbrain-widget.js", Null::Stub(Stub::Outbrain)),
    ("pardot-1.0", Null::Stub(Stub::Pardot)),
    ("popads.js", Null::Stub(Stub::Popads)),
    ("popads.net.js", Null::Stub(Stub::Popads)),
    ("prebid-ads.js", Null::Stub(Stub::Prebid)),
    ("prevent-bab", Null::Stub(Stub::BlockAdBlock)),
    ("prevent-fab-3.2.0", Null::Stub(Stub::BlockAdBlock)),
    ("prevent-popads-net", Null::Stub(Stub::Popads)),
    ("scorecardresearch-beacon", Null::Stub(Stub::Scorecard)),
    ("scorecardresearch.com/beacon.js", Null::Stub(Stub::Scorecard)),
    ("scorecardresearch_beacon.js", Null::Stub(Stub::Scorecard)),
    ("sensors-analytics.js", Null::Stub(Stub::Sensors)),
    ("static.chartbeat.com/chartbeat.js", Null::Stub(Stub::Chartbeat)),
    ("widgets.outbrain.com/outbrain.js", Null::Stub(Stub::Outbrain)),
];

/// The answer of this name, if there is one.
pub(crate) fn find(name: &str) -> Option<Null<'static>> {
    NAMES.binary_search_by(|(known, _)| (*known).cmp(name)).ok().map(|at| NAMES[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_the_table_is_sorted() {
        assert!(NAMES.is_sorted_by_key(|(name, _)| name));
        assert_eq!(find("noopjs"), Some(Null::Blank(Blank::Script)));
        assert_eq!(find("google-ima.js"), Some(Null::Stub(Stub::Ima)));
        assert_eq!(find("32x32.png"), Some(Null::Blank(Blank::Png32x32)));
        assert_eq!(find("noopwhat"), None);
    }
}
