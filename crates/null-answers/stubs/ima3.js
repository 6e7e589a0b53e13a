// Stands in for the IMA SDK (ima3.js): every request for advertisements finds none, so content plays.
(function () {
  'use strict';
  function none() {}

  function Target() { this.heard = {}; }
  Target.prototype.addEventListener = function (kinds, listener, capture, scope) {
    var heard = this.heard;
    (Array.isArray(kinds) ? kinds : [kinds]).forEach(function (kind) {
      (heard[kind] = heard[kind] || []).push({ call: listener, scope: scope });
    });
  };
  Target.prototype.removeEventListener = function (kinds, listener) {
    var heard = this.heard;
    (Array.isArray(kinds) ? kinds : [kinds]).forEach(function (kind) {
      heard[kind] = (heard[kind] || []).filter(function (it) { return it.call !== listener; });
    });
  };
  Target.prototype.tell = function (event) {
    (this.heard[event.type] || []).slice().forEach(function (it) {
      try {
        if (typeof it.call === 'function') { it.call.call(it.scope, event); }
      } catch (e) { /* the page's own affair */ }
    });
  };
  function kind(methods, parent) {
    function Kind() { if (parent) { parent.call(this); } }
    if (parent) { Kind.prototype = Object.create(parent.prototype); }
    Object.keys(methods).forEach(function (name) {
      var value = methods[name];
      Kind.prototype[name] = typeof value === 'function' ? value : function () { return value; };
    });
    return Kind;
  }

  var LOADED = 'adsManagerLoaded';
  var FAILED = 'adError';

  function AdError(type, code, vast, message) {
    this.type = type; this.code = code; this.vast = vast; this.message = message;
  }
  AdError.prototype = {
    getErrorCode: function () { return this.code; },
    getInnerError: function () { return null; },
    getMessage: function () { return this.message; },
    getType: function () { return this.type; },
    getVastErrorCode: function () { return this.vast; },
    toString: function () { return 'AdError ' + this.code + ': ' + this.message; }
  };
  AdError.ErrorCode = { ADS_REQUEST_NETWORK_ERROR: 1012, FAILED_TO_REQUEST_ADS: 1005, INVALID_ARGUMENTS: 1101,
    UNKNOWN_ERROR: 900, UNKNOWN_AD_RESPONSE: 1010, VAST_EMPTY_RESPONSE: 1009, VAST_LOAD_TIMEOUT: 301,
    VAST_NO_ADS_AFTER_WRAPPER: 303, VIDEO_PLAY_ERROR: 400 };
  AdError.Type = { AD_LOAD: 'adLoadError', AD_PLAY: 'adPlayError' };

  function AdErrorEvent(error, context) { this.type = FAILED; this.error = error; this.context = context; }
  AdErrorEvent.prototype.getError = function () { return this.error; };
  AdErrorEvent.prototype.getUserRequestContext = function () { return this.context || {}; };
  AdErrorEvent.Type = { AD_ERROR: FAILED };

  function AdEvent(type) { this.type = type; }
  AdEvent.prototype.getAd = function () { return null; };
  AdEvent.prototype.getAdData = function () { return {}; };
  AdEvent.Type = {};
  ('AD_BREAK_READY:adBreakReady AD_BUFFERING:adBuffering AD_CAN_PLAY:adCanPlay AD_METADATA:adMetadata ' +
    'AD_PROGRESS:adProgress ALL_ADS_COMPLETED:allAdsCompleted CLICK:click COMPLETE:complete ' +
    'CONTENT_PAUSE_REQUESTED:contentPauseRequested CONTENT_RESUME_REQUESTED:contentResumeRequested ' +
    'DURATION_CHANGE:durationChange EXPANDED_CHANGED:expandedChanged FIRST_QUARTILE:firstQuartile ' +
    'IMPRESSION:impression INTERACTION:interaction LINEAR_CHANGE:linearChange LINEAR_CHANGED:linearChanged ' +
    'LOADED:loaded LOG:log MIDPOINT:midpoint PAUSED:pause RESUMED:resume SKIPPABLE_STATE_CHANGED:skippableStateChanged ' +
    'SKIPPED:skip STARTED:start THIRD_QUARTILE:thirdQuartile USER_CLOSE:userClose VIDEO_CLICKED:videoClicked ' +
    'VIDEO_ICON_CLICKED:videoIconClicked VIEWABLE_IMPRESSION:viewable_impression VOLUME_CHANGED:volumeChange ' +
    'VOLUME_MUTED:mute').split(' ').forEach(function (pair) {
    var both = pair.split(':');
    AdEvent.Type[both[0]] = both[1];
  });

  var AdsManager = kind({
    collapse: none, configureAdsManager: none, destroy: none, discardAdBreak: none, expand: none, focus: none,
    getAdSkippableState: false, getCuePoints: function () { return []; }, getCurrentAd: null, getCurrentAdCuePoints: function () { return []; },
    getRemainingTime: 0, getVolume: 1, init: none, isCustomClickTrackingUsed: false, isCustomPlaybackUsed: false, pause: none,
    requestNextAdBreak: none, resize: none, resume: none, setVolume: none, skip: none, stop: none,
    updateAdsRenderingSettings: none,
    start: function () {
      var manager = this;
      setTimeout(function () {
        manager.tell(new AdEvent(AdEvent.Type.CONTENT_RESUME_REQUESTED));
        manager.tell(new AdEvent(AdEvent.Type.ALL_ADS_COMPLETED));
      }, 0);
    }
  }, Target);

  function AdsManagerLoadedEvent(manager, context) { this.type = LOADED; this.manager = manager; this.context = context; }
  AdsManagerLoadedEvent.prototype.getAdsManager = function () { return this.manager; };
  AdsManagerLoadedEvent.prototype.getUserRequestContext = function () { return this.context || {}; };
  AdsManagerLoadedEvent.Type = { ADS_MANAGER_LOADED: LOADED };

  var settings = {};
  var ImaSdkSettings = kind({
    getCompanionBackfill: 'always', getDisableCustomPlaybackForIOS10Plus: false, getLocale: '', getNumRedirects: 4,
    getPlayerType: '', getPlayerVersion: '', getPpid: '', isCookiesEnabled: true, getVpaidMode: 0,
    setAutoPlayAdBreaks: none, setCompanionBackfill: none, setCookiesEnabled: none,
    setDisableCustomPlaybackForIOS10Plus: none, setDisableFlashAds: none, setFeatureFlags: none, setLocale: none,
    setNumRedirects: none, setPlayerType: none, setPlayerVersion: none, setPpid: none, setSessionId: none,
    setVpaidAllowed: none, setVpaidMode: none
  });
  ImaSdkSettings.CompanionBackfillMode = { ALWAYS: 'always', ON_MASTER_AD: 'on_master_ad' };
  ImaSdkSettings.VpaidMode = { DISABLED: 0, ENABLED: 1, INSECURE: 2 };

  var AdsLoader = kind({
    contentComplete: none, destroy: none,
    getSettings: function () { return settings; },
    getVersion: '3.0.0',
    requestAds: function (request, context) {
      var loader = this;
      setTimeout(function () {
        // A player that hears of no advertisement goes on with its content.
        var error = new AdError(AdError.Type.AD_LOAD, AdError.ErrorCode.VAST_EMPTY_RESPONSE, 303,
          'The response held no advertisement.');
        loader.tell(new AdErrorEvent(error, context));
      }, 0);
    }
  }, Target);

  var AdDisplayContainer = kind({ destroy: none, initialize: none });
  var AdsRequest = kind({ setAdWillAutoPlay: none, setAdWillPlayMuted: none, setContinuousPlayback: none });
  var AdsRenderingSettings = kind({});
  AdsRenderingSettings.AUTO_SCALE = -1;

  var StreamManager = kind({
    contentTimeForStreamTime: function (time) { return time; }, destroy: none, getActiveAd: null, loadStreamMetadata: none,
    onTimedMetadata: none, previousCuePointForStreamTime: null, processMetadata: none, replaceAdTagParameters: none,
    setClickElement: none, setUiElement: none, streamTimeForContentTime: function (time) { return time; }, streamId: '',
    reset: none, focus: none,
    requestStream: function () {
      var manager = this;
      setTimeout(function () {
        manager.tell({ type: 'error', getAd: function () { return null; },
          getStreamData: function () { return { errorMessage: 'no stream', url: '' }; } });
      }, 0);
    }
  }, Target);
  var StreamEvent = { Type: { AD_BREAK_ENDED: 'adBreakEnded', AD_BREAK_STARTED: 'adBreakStarted', AD_PERIOD_ENDED: 'adPeriodEnded',
    AD_PERIOD_STARTED: 'adPeriodStarted', AD_PROGRESS: 'adProgress', CLICK: 'click', COMPLETE: 'complete',
    CUEPOINTS_CHANGED: 'cuepointsChanged', ERROR: 'error', FIRST_QUARTILE: 'firstquartile', LOADED: 'loaded',
    MIDPOINT: 'midpoint', SKIPPED: 'skip', STARTED: 'started', STREAM_INITIALIZED: 'streamInitialized',
    THIRD_QUARTILE: 'thirdquartile', VIDEO_CLICKED: 'videoClicked' } };

  settings = new ImaSdkSettings();
  var google = window.google = window.google || {};
  var ima = google.ima = google.ima || {};
  var parts = {
    AdDisplayContainer: AdDisplayContainer, AdError: AdError, AdErrorEvent: AdErrorEvent, AdEvent: AdEvent,
    AdsLoader: AdsLoader, AdsManager: AdsManager, AdsManagerLoadedEvent: AdsManagerLoadedEvent,
    AdsRenderingSettings: AdsRenderingSettings, AdsRequest: AdsRequest, ImaSdkSettings: ImaSdkSettings,
    CompanionAdSelectionSettings: kind({}), UniversalAdIdInfo: kind({ getAdIdRegistry: '', getAdIdValue: '' }),
    CompanionAd: kind({}), OmidAccessMode: { DOMAIN: 'domain', FULL: 'full', LIMITED: 'limited' },
    UiElements: { AD_ATTRIBUTION: 'adAttribution', COUNTDOWN: 'countdown' },
    ViewMode: { FULLSCREEN: 'fullscreen', NORMAL: 'normal' }, VERSION: '3.0.0', settings: settings,
    secureSignals: { clearAllCache: none },
    dai: { api: { StreamManager: StreamManager, StreamEvent: StreamEvent, StreamRequest: kind({}), UiSettings: kind({}),
      LiveStreamRequest: kind({}), VODStreamRequest: kind({}), PodStreamRequest: kind({}), PodVodStreamRequest: kind({}), StreamData: kind({}) } }
  };
  parts.CompanionAdSelectionSettings.CreativeType = { ALL: 'All', FLASH: 'Flash', IMAGE: 'Image' };
  parts.CompanionAdSelectionSettings.ResourceType = { ALL: 'All', HTML: 'Html', IFRAME: 'IFrame', STATIC: 'Static' };
  parts.CompanionAdSelectionSettings.SizeCriteria = { IGNORE: 'IgnoreSize', SELECT_EXACT_MATCH: 'SelectExactMatch', SELECT_NEAR_MATCH: 'SelectNearMatch' };
  Object.keys(parts).forEach(function (name) { if (!(name in ima)) { ima[name] = parts[name]; } });
})();
