// Stands in for ga.js and urchin.js: _gaq and _gat exist, queued functions run, links are followed.
(function () {
  'use strict';
  function none() {}
  function follow(target) {
    var url = typeof target === 'string' ? target : target && (target.href || target.action);
    if (typeof url === 'string' && /^https?:/i.test(url)) { window.location.assign(url); }
  }
  function Tracker() {}
  [
    '_addIgnoredOrganic', '_addIgnoredRef', '_addItem', '_addOrganic', '_addTrans', '_clearIgnoredOrganic',
    '_clearIgnoredRef', '_clearOrganic', '_cookiePathCopy', '_deleteCustomVar', '_initData', '_set',
    '_setAccount', '_setAllowAnchor', '_setAllowHash', '_setAllowLinker', '_setCampaignCookieTimeout',
    '_setCampaignTrack', '_setClientInfo', '_setCookiePath', '_setCustomVar', '_setDetectFlash',
    '_setDetectTitle', '_setDomainName', '_setLocalGifPath', '_setLocalRemoteServerMode',
    '_setReferrerOverride', '_setSampleRate', '_setSessionCookieTimeout', '_setSiteSpeedSampleRate',
    '_setVisitorCookieTimeout', '_trackEvent', '_trackPageLoadTime', '_trackPageview', '_trackSocial',
    '_trackTiming', '_trackTrans', '_visitCode'
  ].forEach(function (method) { Tracker.prototype[method] = none; });
  Tracker.prototype._getName = function () { return ''; };
  Tracker.prototype._getAccount = function () { return ''; };
  Tracker.prototype._getVersion = function () { return ''; };
  Tracker.prototype._getVisitorCustomVar = function () { return ''; };
  Tracker.prototype._getLinkerUrl = function (url) { return url; };
  Tracker.prototype._link = follow;
  Tracker.prototype._linkByPost = none;

  var tracker = new Tracker();
  window._gat = {
    _anonymizeIp: none,
    _createTracker: function () { return tracker; },
    _forceSSL: none,
    _getPlugin: none,
    _getTracker: function () { return tracker; },
    _getTrackerByName: function () { return tracker; },
    _getTrackers: function () { return [tracker]; }
  };

  var queued = window._gaq;
  function push() {
    for (var i = 0; i < arguments.length; i++) {
      var command = arguments[i];
      if (typeof command === 'function') {
        try { command(); } catch (e) { /* the page's own affair */ }
      } else if (Array.isArray(command)) {
        var method = String(command[0]).replace(/^.*\./, '');
        if (method === '_link') { follow(command[1]); }
        if (method === '_set' && command[1] === 'hitCallback' && typeof command[2] === 'function') {
          setTimeout(command[2], 0);
        }
      }
    }
    return 0;
  }
  window._gaq = { push: push, _createAsyncTracker: function () { return tracker; }, _getAsyncTracker: function () { return tracker; } };
  if (Array.isArray(queued)) { push.apply(null, queued); }
  window._uacct = window._uacct || '';
  window.urchinTracker = none;
})();
