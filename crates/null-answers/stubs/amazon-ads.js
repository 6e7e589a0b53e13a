// Stands in for the older Amazon header tag (amzn_ads.js): there are no bids, and callbacks run.
(function () {
  'use strict';
  function none() {}
  function list() { return []; }
  function text() { return ''; }
  window.amznads = {
    appendScriptTag: none, appendTargetingToAdServerUrl: function (url) { return url; },
    appendTargetingToQueryString: text, clearTargetingFromGPTAsync: none,
    doAllTasks: none, doGetAdsAsync: none, doTask: none, detectIframeAndGetURL: none,
    getAds: none, getAdsAsync: none, getAdForSlot: none, getAdsCallback: function (id, done) { if (typeof done === 'function') { setTimeout(done, 0); } },
    getDisplayAds: none, getDisplayAdsAsync: none, getDisplayAdsCallback: function (id, done) { if (typeof done === 'function') { setTimeout(done, 0); } },
    getKeys: list, getReferrerURL: text, getScriptSource: none, getTargeting: function () { return {}; },
    getTokens: list, getValidMilliseconds: function () { return 0; }, getVideoAds: none, getVideoAdsAsync: none,
    getVideoAdsCallback: function (id, done) { if (typeof done === 'function') { setTimeout(done, 0); } },
    handleCallBack: none, hasAds: function () { return false; }, renderAd: none, saveAds: none,
    setTargeting: none, setTargetingForGPTAsync: none, setTargetingForGPTSync: none,
    tryGetAdsAsync: none, updateAds: none, ads: {}, state: {}
  };
  window.amzn_ads = window.amzn_ads || none;
  window.aax_write = window.aax_write || none;
  window.aax_render_ad = window.aax_render_ad || none;
})();
