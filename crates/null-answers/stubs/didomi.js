// Stands in for Didomi: nobody is asked, nothing is consented to, and pages that wait go on.
(function () {
  'use strict';
  function no() { return false; }
  function none() {}
  var status = { purposes: { consent: {}, legitimate_interest: {} }, vendors: { consent: {}, legitimate_interest: {} }, user_id: '', created: null };
  var notice = { isVisible: no, show: none, hide: none };
  // Events of a notice that is never shown: there is nothing to tell.
  function on() { return { unsubscribe: none }; }
  function observable() {
    return { subscribe: function (listener) { later(listener, undefined); return { unsubscribe: none }; }, filter: observable, distinctUntilChanged: observable };
  }
  function later(what, value) {
    if (typeof what === 'function') {
      setTimeout(function () {
        try { what(value); } catch (e) { /* the page's own affair */ }
      }, 0);
    }
  }
  var didomi = window.Didomi = {
    notice: notice, preferences: { isVisible: no, show: none, hide: none }, on: on, off: none, reset: none,
    isConsentRequired: no, isRegulationApplied: no, shouldConsentBeCollected: no, getUserConsentStatusForAll: function () {
      return { purposes: { enabled: [], disabled: [] }, vendors: { enabled: [], disabled: [] } };
    },
    getUserConsentStatus: no, getUserConsentStatusForPurpose: no, getUserConsentStatusForVendor: no, getUserConsentToken: function () { return ''; },
    getUserStatus: function () { return status; }, getCurrentUserStatus: function () { return status; }, getObservableOnUserConsentStatusForVendor: observable,
    getVendors: function () { return []; }, getPurposes: function () { return []; }, setUserAgreeToAll: none, setUserDisagreeToAll: none,
    setUserConsentStatus: none, setUserConsentStatusForAll: none, setUserStatus: none, openTransaction: function () { return { enablePurpose: none, disablePurpose: none, commit: no }; },
    isUserConsentStatusPartial: no, getExperiment: function () { return null; }, getLanguage: function () { return 'en'; }, getConfig: function () { return {}; }
  };
  var ready = window.didomiOnReady;
  window.didomiOnReady = { push: function () { for (var i = 0; i < arguments.length; i++) { later(arguments[i], didomi); } return 0; } };
  if (Array.isArray(ready)) { window.didomiOnReady.push.apply(null, ready); }
  var heard = window.didomiEventListeners;
  window.didomiEventListeners = { push: function () { return 0; } };
  if (Array.isArray(heard)) { heard.length = 0; }
})();
