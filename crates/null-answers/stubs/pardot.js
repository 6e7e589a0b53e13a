// Stands in for Pardot (pd.js): nobody is followed, no cookie is set, what asks for a cookie finds none.
(function () {
  'use strict';
  function none() {}
  var tracker = { visitor_id: '', visitor_id_sign: '', pi_opt_in: '', campaign_id: null, account_id: null, url: '', title: '' };
  window.checkNamespace = function (path) {
    return String(path).split('.').reduce(function (at, name) {
      if (!at[name]) { at[name] = {}; }
      return at[name];
    }, window);
  };
  window.pi = window.pi || {};
  window.pi.tracker = tracker;
  window.piVersion = '1.0.2';
  window.piTracker = window.piSetCookie = window.piDeleteCookie = none;
  window.piGetCookie = window.piGetParameter = function () { return ''; };
  window.getPardotUrl = window.piUrl = function () { return ''; };
  window.piResponse = none;
})();
