//! Stand-ins that rules name: `$redirect=noop.js` and its like in lists.
//!
//! The names are those that uBlock Origin and AdGuard document for their resources, old ones
//! included. What is not known gets the answer that its type would get. A table, and no more.
//! Called by `null`.

use crate::blank::{BlankBody, NullAnswer};
use crate::stubs::Stub;

/// Sorted by name.
const NAMES: &[(&str, NullAnswer<'static>)] = &[
    ("1x1-transparent.gif", NullAnswer::Blank(BlankBody::Bitmap)),
    ("1x1.gif", NullAnswer::Blank(BlankBody::Bitmap)),
    ("2x2-transparent.png", NullAnswer::Blank(BlankBody::Png2x2)),
    ("2x2.png", NullAnswer::Blank(BlankBody::Png2x2)),
    ("32x32-transparent.png", NullAnswer::Blank(BlankBody::Png32x32)),
    ("32x32.png", NullAnswer::Blank(BlankBody::Png32x32)),
    ("3x2-transparent.png", NullAnswer::Blank(BlankBody::Png3x2)),
    ("3x2.png", NullAnswer::Blank(BlankBody::Png3x2)),
    ("adsbygoogle.js", NullAnswer::Stub(Stub::Adsbygoogle)),
    ("amazon-adsystem.com/aax2/amzn_ads.js", NullAnswer::Stub(Stub::AmazonAds)),
    ("amazon-apstag", NullAnswer::Stub(Stub::Apstag)),
    ("amazon_ads.js", NullAnswer::Stub(Stub::AmazonAds)),
    ("amazon_apstag.js", NullAnswer::Stub(Stub::Apstag)),
    ("ati-smarttag", NullAnswer::Stub(Stub::AtInternet)),
    ("bab-defuser.js", NullAnswer::Stub(Stub::BlockAdBlock)),
    ("blank-css", NullAnswer::Blank(BlankBody::Style)),
    ("blank-html", NullAnswer::Blank(BlankBody::Frame)),
    ("blank-js", NullAnswer::Blank(BlankBody::Script)),
    ("blank-mp3", NullAnswer::Blank(BlankBody::Audio)),
    ("blank-mp4", NullAnswer::Blank(BlankBody::Video)),
    ("blank-text", NullAnswer::Blank(BlankBody::Text)),
    ("chartbeat.js", NullAnswer::Stub(Stub::Chartbeat)),
    ("click2load.html", NullAnswer::Blank(BlankBody::ClickToLoad)),
    ("didomi-loader", NullAnswer::Stub(Stub::Didomi)),
    ("empty", NullAnswer::Blank(BlankBody::Text)),
    ("fingerprint2.js", NullAnswer::Stub(Stub::Fingerprint2)),
    ("fingerprint3.js", NullAnswer::Stub(Stub::Fingerprint3)),
    ("fingerprintjs2", NullAnswer::Stub(Stub::Fingerprint2)),
    ("fingerprintjs3", NullAnswer::Stub(Stub::Fingerprint3)),
    ("freewheel-admanager", NullAnswer::Stub(Stub::FreeWheel)),
    ("fuckadblock.js-3.2.0", NullAnswer::Stub(Stub::BlockAdBlock)),
    ("gemius", NullAnswer::Stub(Stub::Gemius)),
    ("google-analytics", NullAnswer::Stub(Stub::GoogleAnalytics)),
    ("google-analytics-ga", NullAnswer::Stub(Stub::GoogleAnalyticsClassic)),
    ("google-analytics.com/analytics.js", NullAnswer::Stub(Stub::GoogleAnalytics)),
    ("google-analytics.com/ga.js", NullAnswer::Stub(Stub::GoogleAnalyticsClassic)),
    ("google-analytics_analytics.js", NullAnswer::Stub(Stub::GoogleAnalytics)),
    ("google-analytics_cx_api.js", NullAnswer::Stub(Stub::GoogleExperiments)),
    ("google-analytics_ga.js", NullAnswer::Stub(Stub::GoogleAnalyticsClassic)),
    ("google-ima.js", NullAnswer::Stub(Stub::Ima)),
    ("google-ima3", NullAnswer::Stub(Stub::Ima)),
    ("googlesyndication-adsbygoogle", NullAnswer::Stub(Stub::Adsbygoogle)),
    ("googlesyndication.com/adsbygoogle.js", NullAnswer::Stub(Stub::Adsbygoogle)),
    ("googlesyndication_adsbygoogle.js", NullAnswer::Stub(Stub::Adsbygoogle)),
    ("googletagmanager-gtm", NullAnswer::Stub(Stub::GoogleTagManager)),
    ("googletagmanager.com/gtm.js", NullAnswer::Stub(Stub::GoogleTagManager)),
    ("googletagmanager_gtm.js", NullAnswer::Stub(Stub::GoogleTagManager)),
    ("googletagservices-gpt", NullAnswer::Stub(Stub::GooglePublisherTag)),
    ("googletagservices.com/gpt.js", NullAnswer::Stub(Stub::GooglePublisherTag)),
    ("googletagservices_gpt.js", NullAnswer::Stub(Stub::GooglePublisherTag)),
    ("matomo", NullAnswer::Stub(Stub::Matomo)),
    ("metrika-yandex-tag", NullAnswer::Stub(Stub::Metrika)),
    ("metrika-yandex-watch", NullAnswer::Stub(Stub::Metrika)),
    ("naver-wcslog", NullAnswer::Stub(Stub::Naver)),
    ("nitropay_ads.js", NullAnswer::Stub(Stub::NitroPay)),
    ("nobab.js", NullAnswer::Stub(Stub::BlockAdBlock)),
    ("nofab.js", NullAnswer::Stub(Stub::BlockAdBlock)),
    ("noop-0.1s.mp3", NullAnswer::Blank(BlankBody::Audio)),
    ("noop-1s.mp4", NullAnswer::Blank(BlankBody::Video)),
    ("noop-vast2.xml", NullAnswer::Blank(BlankBody::Vast2)),
    ("noop-vast3.xml", NullAnswer::Blank(BlankBody::Vast3)),
    ("noop-vast4.xml", NullAnswer::Blank(BlankBody::Vast4)),
    ("noop-vmap1.xml", NullAnswer::Blank(BlankBody::Vmap)),
    ("noop.css", NullAnswer::Blank(BlankBody::Style)),
    ("noop.html", NullAnswer::Blank(BlankBody::Frame)),
    ("noop.js", NullAnswer::Blank(BlankBody::Script)),
    ("noop.json", NullAnswer::Blank(BlankBody::Json)),
    ("noop.txt", NullAnswer::Blank(BlankBody::Text)),
    ("noopcss", NullAnswer::Blank(BlankBody::Style)),
    ("noopframe", NullAnswer::Blank(BlankBody::Frame)),
    ("noopjs", NullAnswer::Blank(BlankBody::Script)),
    ("noopjson", NullAnswer::Blank(BlankBody::Json)),
    ("noopmp3-0.1s", NullAnswer::Blank(BlankBody::Audio)),
    ("noopmp4-1s", NullAnswer::Blank(BlankBody::Video)),
    ("nooptext", NullAnswer::Blank(BlankBody::Text)),
    ("noopvast-2.0", NullAnswer::Blank(BlankBody::Vast2)),
    ("noopvast-3.0", NullAnswer::Blank(BlankBody::Vast3)),
    ("noopvast-4.0", NullAnswer::Blank(BlankBody::Vast4)),
    ("noopvmap-1.0", NullAnswer::Blank(BlankBody::Vmap)),
    ("outbrain-widget.js", NullAnswer::Stub(Stub::Outbrain)),
    ("pardot-1.0", NullAnswer::Stub(Stub::Pardot)),
    ("popads.js", NullAnswer::Stub(Stub::Popads)),
    ("popads.net.js", NullAnswer::Stub(Stub::Popads)),
    ("prebid-ads.js", NullAnswer::Stub(Stub::Prebid)),
    ("prevent-bab", NullAnswer::Stub(Stub::BlockAdBlock)),
    ("prevent-fab-3.2.0", NullAnswer::Stub(Stub::BlockAdBlock)),
    ("prevent-popads-net", NullAnswer::Stub(Stub::Popads)),
    ("scorecardresearch-beacon", NullAnswer::Stub(Stub::Scorecard)),
    ("scorecardresearch.com/beacon.js", NullAnswer::Stub(Stub::Scorecard)),
    ("scorecardresearch_beacon.js", NullAnswer::Stub(Stub::Scorecard)),
    ("sensors-analytics.js", NullAnswer::Stub(Stub::Sensors)),
    ("static.chartbeat.com/chartbeat.js", NullAnswer::Stub(Stub::Chartbeat)),
    ("widgets.outbrain.com/outbrain.js", NullAnswer::Stub(Stub::Outbrain)),
];

/// The answer of this name, if there is one.
pub(crate) fn find(name: &str) -> Option<NullAnswer<'static>> {
    NAMES.binary_search_by(|(known, _)| (*known).cmp(name)).ok().map(|at| NAMES[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_the_table_is_sorted() {
        assert!(NAMES.is_sorted_by_key(|(name, _)| name));
        assert_eq!(find("noopjs"), Some(NullAnswer::Blank(BlankBody::Script)));
        assert_eq!(find("google-ima.js"), Some(NullAnswer::Stub(Stub::Ima)));
        assert_eq!(find("32x32.png"), Some(NullAnswer::Blank(BlankBody::Png32x32)));
        assert_eq!(find("noopwhat"), None);
    }
}
