// Stands in for Matomo (matomo.js, piwik.js): the queue runs, nothing is measured.
(function () {
  'use strict';
  function none() {}
  function text() { return ''; }
  var queue = window._paq;

  function done(args) {
    var last = args[args.length - 1];
    if (typeof last === 'function') { setTimeout(last, 0); }
  }
  var silent = ('addDownloadExtensions addEcommerceItem addListener addTracker appendToTrackingUrl clearEcommerceCart customCacheNoReferrer ' +
    'deleteCookies deleteCustomDimension deleteCustomVariable disableAlwaysUseSendBeacon disableBrowserFeatureDetection disableCookies ' +
    'disablePerformanceTracking discardHashTag enableBrowserFeatureDetection enableCookies enableCrossDomainLinking enableFileTracking ' +
    'enableHeartBeatTimer enableJSErrorTracking enableLinkTracking forgetConsentGiven forgetCookieConsentGiven forgetUserOptOut ' +
    'killFrame logAllContentBlocksOnPage optUserOut ping queueRequest redirectFile rememberConsentGiven rememberCookieConsentGiven ' +
    'removeEcommerceItem requireConsent requireCookieConsent resetUserId setAPIUrl setConsentGiven setCookieConsentGiven ' +
    'setCookieDomain setCookieNamePrefix setCookiePath setCookieSameSite setCustomData setCustomDimension setCustomRequestProcessing ' +
    'setCustomUrl setCustomVariable setDocumentTitle setDoNotTrack setDomains setDownloadClasses setEcommerceView setExcludedQueryParams ' +
    'setExcludedReferrers setGenerationTimeMs setIgnoreClasses setLinkClasses setLinkTrackingTimer setPageViewId setReferralCookieTimeout ' +
    'setReferrerUrl setRequestContentType setRequestMethod setRequestQueueInterval setSecureCookie setSessionCookieTimeout setSiteId ' +
    'setTrackerUrl setUserId setVisitorCookieTimeout setVisitorId storeCustomVariablesInCookie trackAllContentImpressions ' +
    'trackContentImpression trackContentImpressionsWithinNode trackContentInteraction trackContentInteractionNode ' +
    'trackEcommerceCartUpdate trackEcommerceOrder trackEvent trackGoal trackLink trackPageView trackRequest trackSiteSearch ' +
    'trackVisibleContentImpressions updatePageTitle useAlternativeUrls').split(' ');

  function Tracker() {}
  silent.forEach(function (name) { Tracker.prototype[name] = function () { done(arguments); }; });
  ('getAttributionCampaignKeyword getAttributionCampaignName getAttributionReferrerTimestamp getAttributionReferrerUrl getCookie ' +
    'getCookieDomain getCookiePath getCrossDomainLinkingUrlParameter getCurrentUrl getMatomoUrl getPageViewId getPiwikUrl ' +
    'getRememberedConsent getRememberedCookieConsent getRequest getSiteId getTrackerUrl getUserId').split(' ')
    .forEach(function (name) { Tracker.prototype[name] = text; });
  Tracker.prototype.getVisitorId = function () { return '0000000000000000'; };
  Tracker.prototype.getVisitorInfo = function () { return ['1', '0000000000000000', 0, 0, 0, 0, '']; };
  Tracker.prototype.getAttributionInfo = function () { return ['', '', 0, '']; };
  Tracker.prototype.getCustomVariable = function () { return false; };
  Tracker.prototype.getCustomDimension = none;
  Tracker.prototype.getEcommerceItems = function () { return {}; };
  Tracker.prototype.hasCookies = function () { return false; };
  Tracker.prototype.hasRememberedConsent = function () { return false; };
  Tracker.prototype.isConsentRequired = function () { return false; };
  Tracker.prototype.isUserOptedOut = function () { return true; };

  var tracker = new Tracker();
  function run(entry) {
    if (typeof entry === 'function') { call(entry); return; }
    if (!entry || !entry.length) { return; }
    if (typeof entry[0] === 'function') { call(entry[0], [].slice.call(entry, 1)); return; }
    var method = String(entry[0]).replace(/^.*[.:]/, '');
    if (typeof tracker[method] === 'function') { tracker[method].apply(tracker, [].slice.call(entry, 1)); }
  }
  function call(what, args) {
    try { what.apply(tracker, args || []); } catch (e) { /* the page's own affair */ }
  }

  var matomo = {
    initialized: true, expireDateTime: 0, plugins: {}, DOM: { onLoad: call, onReady: call }, JSON: window.JSON, helper: {},
    addPlugin: none, addTracker: function () { return tracker; }, getAsyncTracker: function () { return tracker; },
    getAsyncTrackers: function () { return [tracker]; }, getTracker: function () { return tracker; },
    off: none, on: none, trigger: none, retryMissedPluginCalls: none
  };
  window.Matomo = window.Piwik = window.AnalyticsTracker = matomo;
  window.piwik_log = none;
  window._paq = { push: function () { for (var i = 0; i < arguments.length; i++) { run(arguments[i]); } return 0; } };
  if (Array.isArray(queue)) { queue.forEach(run); }
  ['matomoAsyncInit', 'piwikAsyncInit', 'matomoPluginAsyncInit'].forEach(function (name) {
    if (typeof window[name] === 'function') { call(window[name]); }
  });
})();
