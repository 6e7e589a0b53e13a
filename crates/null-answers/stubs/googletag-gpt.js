// Stands in for the publisher tag (gpt.js): slots can be defined and shown, and every one is empty.
(function () {
  'use strict';
  function none() {}
  function nothing() { return null; }
  function list() { return []; }
  var listeners = {};
  var slots = [];

  function tell(kind, event) {
    (listeners[kind] || []).slice().forEach(function (listener) {
      setTimeout(function () {
        try { listener(event); } catch (e) { /* the page's own affair */ }
      }, 0);
    });
  }

  // What is set is kept: pages read back their targeting.
  function targeted(object) {
    var kept = {};
    object.setTargeting = function (key, value) {
      kept[key] = Array.isArray(value) ? value : [String(value)];
      return object;
    };
    object.updateTargetingFromMap = function (map) {
      Object.keys(map || {}).forEach(function (key) { object.setTargeting(key, map[key]); });
      return object;
    };
    object.getTargeting = function (key) { return kept[key] || []; };
    object.getTargetingKeys = function () { return Object.keys(kept); };
    object.clearTargeting = function (key) {
      if (key === undefined) { kept = {}; } else { delete kept[key]; }
      return object;
    };
    return object;
  }
  function chained(object, names) {
    names.forEach(function (name) { object[name] = function () { return object; }; });
    return object;
  }

  function Service(name) {
    var service = chained({}, [
      'addService', 'clearCategoryExclusions', 'clearTagForChildDirectedTreatment', 'collapseEmptyDivs',
      'set', 'setCategoryExclusion', 'setCentering', 'setCookieOptions', 'setForceSafeFrame', 'setLocation',
      'setPrivacySettings', 'setPublisherProvidedId', 'setRequestNonPersonalizedAds', 'setSafeFrameConfig',
      'setTagForChildDirectedTreatment', 'setTagForUnderAgeOfConsent', 'setVideoContent'
    ]);
    targeted(service);
    service.getName = function () { return name; };
    service.get = nothing;
    service.getAttributeKeys = list;
    service.getSlots = function () { return slots.slice(); };
    service.getSlotIdMap = function () { return {}; };
    service.addEventListener = function (kind, listener) {
      if (typeof listener === 'function') { (listeners[kind] = listeners[kind] || []).push(listener); }
      return service;
    };
    service.removeEventListener = function (kind, listener) {
      listeners[kind] = (listeners[kind] || []).filter(function (it) { return it !== listener; });
      return true;
    };
    service.refresh = function (some) { (some || slots).forEach(show); };
    service.clear = function () { return true; };
    service.display = none;
    service.defineOutOfPagePassback = function () { return new Slot('', [], ''); };
    service.definePassback = service.defineOutOfPagePassback;
    ['disableInitialLoad', 'enableLazyLoad', 'enableSingleRequest', 'enableAsyncRendering', 'enableSyncRendering',
      'enableVideoAds', 'updateCorrelator'].forEach(function (method) { service[method] = function () { return true; }; });
    service.isInitialLoadDisabled = function () { return false; };
    service.isSRA = function () { return true; };
    service.getImaContent = function () { return { vid: '', cmsid: '' }; };
    service.getCorrelator = function () { return ''; };
    service.getVersion = function () { return ''; };
    service.getVideoContent = function () { return { vid: '', cmsid: '' }; };
    return service;
  }

  function Slot(path, sizes, id) {
    var slot = chained(this, [
      'addService', 'clearCategoryExclusions', 'defineSizeMapping', 'set', 'setCategoryExclusion', 'setClickUrl',
      'setCollapseEmptyDiv', 'setConfig', 'setForceSafeFrame', 'setSafeFrameConfig'
    ]);
    targeted(slot);
    slot.getAdUnitPath = function () { return path; };
    slot.getName = slot.getAdUnitPath;
    slot.getSlotElementId = function () { return id; };
    slot.getDomId = slot.getSlotElementId;
    slot.getSlotId = function () { return slot; };
    slot.getId = function () { return path; };
    slot.getSizes = function () { return []; };
    slot.getServices = function () { return [ads]; };
    slot.getResponseInformation = nothing;
    slot.getHtml = function () { return ''; };
    slot.get = nothing;
    slot.getAttributeKeys = list;
    slot.getCategoryExclusions = list;
    slot.getClickUrl = function () { return ''; };
    slot.getCollapseEmptyDiv = nothing;
    slot.getOutOfPage = function () { return false; };
  }

  // What a page hears of a slot for which there was no advertisement.
  function show(slot) {
    var event = { slot: slot, serviceName: 'publisher_ads' };
    var ended = { slot: slot, serviceName: 'publisher_ads', isEmpty: true, size: null, advertiserId: null,
      campaignId: null, creativeId: null, lineItemId: null, isBackfill: false };
    tell('slotRequested', event);
    tell('slotResponseReceived', event);
    tell('slotRenderEnded', ended);
  }
  function define(path, sizes, id) {
    var slot = new Slot(path, sizes, id || '');
    slots.push(slot);
    return slot;
  }

  var ads = new Service('publisher_ads');
  var companions = new Service('companion_ads');
  var content = new Service('content');
  content.setContent = none;
  companions.setRefreshUnfilledSlots = none;
  companions.fillSlot = none;

  var tag = window.googletag = window.googletag || {};
  var queue = tag.cmd || [];
  tag.apiReady = true;
  tag.pubadsReady = true;
  tag.pubads = function () { return ads; };
  tag.companionAds = function () { return companions; };
  tag.content = function () { return content; };
  tag.defineSlot = define;
  tag.defineUnit = define;
  tag.defineOutOfPageSlot = function (path, id) { return define(path, [], typeof id === 'string' ? id : ''); };
  tag.destroySlots = function (some) {
    slots = some ? slots.filter(function (it) { return some.indexOf(it) < 0; }) : [];
    return true;
  };
  tag.display = function (what) {
    var id = typeof what === 'string' ? what : what && (what.id || (what.getSlotElementId && what.getSlotElementId()));
    slots.filter(function (it) { return it.getSlotElementId() === id; }).forEach(show);
  };
  tag.sizeMapping = function () {
    var mapping = { addSize: function () { return mapping; }, build: nothing };
    return mapping;
  };
  tag.getVersion = function () { return ''; };
  tag.getEventLog = function () { return { getAllEvents: list, getEventsByService: list, getEventsBySlot: list }; };
  ['disablePublisherConsole', 'enableServices', 'openConsole', 'setAdIframeTitle', 'setConfig'].forEach(function (method) {
    tag[method] = none;
  });
  tag.getConfig = function () { return {}; };
  tag.secureSignalProviders = { push: none, clearAllCache: none };
  tag.encryptedSignalProviders = tag.secureSignalProviders;
  tag.enums = { OutOfPageFormat: { BOTTOM_ANCHOR: 3, GAME_MANUAL_INTERSTITIAL: 7, INTERSTITIAL: 5, LEFT_SIDE_RAIL: 8,
    REWARDED: 4, RIGHT_SIDE_RAIL: 9, TOP_ANCHOR: 2 }, TrafficSource: { ORGANIC: 1, PURCHASED: 2 } };
  tag.cmd = {
    push: function () {
      for (var i = 0; i < arguments.length; i++) {
        try { arguments[i].call(tag); } catch (e) { /* the page's own affair */ }
      }
      return 1;
    }
  };
  if (Array.isArray(queue)) { tag.cmd.push.apply(null, queue); }
})();
