// Stands in for Prebid: every auction ends at once without a bid, and the queue runs.
(function () {
  'use strict';
  function none() {}
  function list() { return []; }
  function object() { return {}; }
  var pbjs = window.pbjs = window.pbjs || {};
  var handlers = {};
  var config = {};

  function later(what) {
    var rest = [].slice.call(arguments, 1);
    if (typeof what === 'function') {
      setTimeout(function () {
        try { what.apply(pbjs, rest); } catch (e) { /* the page's own affair */ }
      }, 0);
    }
  }
  function tell(kind, what) { (handlers[kind] || []).slice().forEach(function (handler) { later(handler, what); }); }

  pbjs.libLoaded = true;
  pbjs.version = 'v0.0.0';
  pbjs.installedModules = [];
  pbjs.adUnits = pbjs.adUnits || [];
  pbjs.bidderSettings = pbjs.bidderSettings || {};
  pbjs.requestBids = function (request) {
    tell('auctionInit', {});
    later(request && request.bidsBackHandler, {}, false, '');
    tell('auctionEnd', { bidsReceived: [], noBids: [] });
    return Promise.resolve({ bids: {}, timedOut: false, auctionId: '' });
  };
  pbjs.addAdUnits = function (units) { pbjs.adUnits = pbjs.adUnits.concat(units || []); };
  pbjs.removeAdUnit = function () { pbjs.adUnits = []; };
  pbjs.setConfig = function (some) { Object.keys(some || {}).forEach(function (key) { config[key] = some[key]; }); };
  pbjs.mergeConfig = pbjs.setConfig;
  pbjs.getConfig = function (key, heard) {
    if (typeof key === 'function') { later(key, config); return none; }
    if (typeof heard === 'function') { return none; }
    return key === undefined ? config : config[key];
  };
  pbjs.readConfig = pbjs.getConfig;
  pbjs.onEvent = function (kind, handler) { (handlers[kind] = handlers[kind] || []).push(handler); };
  pbjs.offEvent = function (kind, handler) {
    handlers[kind] = (handlers[kind] || []).filter(function (it) { return it !== handler; });
  };
  ['addBidResponse', 'aliasBidder', 'clearAllAuctions', 'enableAnalytics', 'loadSession', 'markWinningBidAsUsed', 'registerAnalyticsAdapter',
    'registerBidAdapter', 'renderAd', 'setBidderConfig', 'setTargetingForAst', 'setTargetingForGPTAsync', 'triggerUserSyncs',
    'onSessionEnd', 'clearBids'].forEach(function (name) { pbjs[name] = none; });
  ['getAllPrebidWinningBids', 'getAllWinningBids', 'getHighestCpmBids', 'getEvents'].forEach(function (name) { pbjs[name] = list; });
  ['getAdserverTargeting', 'getAdserverTargetingForAdUnitCode', 'getBidResponses', 'getNoBids', 'getUserIds', 'getBidderConfig',
    'getConsentMetadata'].forEach(function (name) { pbjs[name] = object; });
  pbjs.getBidResponsesForAdUnitCode = function () { return { bids: [] }; };
  pbjs.getNoBidsForAdUnitCode = pbjs.getBidResponsesForAdUnitCode;
  pbjs.getAdserverTargetingForAdUnitCodeStr = function () { return ''; };
  pbjs.getUserIdsAsEids = list;
  pbjs.getUserIdsAsync = function () { return Promise.resolve({}); };
  pbjs.refreshUserIds = function (some, done) { later(done, {}); return Promise.resolve({}); };

  function push(command) {
    if (typeof command === 'function') {
      try { command.call(pbjs); } catch (e) { /* the page's own affair */ }
    }
    return 0;
  }
  ['que', 'cmd'].forEach(function (name) {
    var queue = pbjs[name];
    pbjs[name] = { push: push };
    if (Array.isArray(queue)) { queue.forEach(push); }
  });
  pbjs.processQueue = none;
})();
