// Stands in for FreeWheel (AdManager.js): every request ends at once without a slot, so that the film begins.
(function () {
  'use strict';
  function none() {}
  function list() { return []; }
  var events = ('REQUEST_COMPLETE REQUEST_INITIATED SLOT_STARTED SLOT_ENDED AD AD_IMPRESSION AD_IMPRESSION_END AD_QUARTILE AD_FIRST_QUARTILE ' +
    'AD_MIDPOINT AD_THIRD_QUARTILE AD_COMPLETE AD_CLICK AD_MUTE AD_UNMUTE AD_COLLAPSE AD_EXPAND AD_PAUSE AD_RESUME AD_REWIND AD_CLOSE ' +
    'AD_SKIPPED AD_INITIATED AD_AUTO_PLAY_BLOCKED AD_MEASUREMENT ERROR RESELLER_NO_AD CONTENT_VIDEO_PAUSE_REQUEST ' +
    'CONTENT_VIDEO_RESUME_REQUEST EXTENSION_LOADED').split(' ');
  var constants = ('LOG_LEVEL_QUIET LOG_LEVEL_INFO LOG_LEVEL_DEBUG TIME_POSITION_CLASS_PREROLL TIME_POSITION_CLASS_MIDROLL ' +
    'TIME_POSITION_CLASS_POSTROLL TIME_POSITION_CLASS_OVERLAY TIME_POSITION_CLASS_DISPLAY TIME_POSITION_CLASS_PAUSE_MIDROLL ' +
    'VIDEO_STATE_PLAYING VIDEO_STATE_PAUSED VIDEO_STATE_STOPPED VIDEO_STATE_COMPLETED ID_TYPE_FW ID_TYPE_CUSTOM ID_TYPE_GROUP ' +
    'VIDEO_ASSET_AUTO_PLAY_TYPE_ATTENDED VIDEO_ASSET_AUTO_PLAY_TYPE_UNATTENDED VIDEO_ASSET_AUTO_PLAY_TYPE_NONE ' +
    'VIDEO_ASSET_DURATION_TYPE_EXACT VIDEO_ASSET_DURATION_TYPE_VARIABLE PARAMETER_LEVEL_OVERRIDE PARAMETER_LEVEL_GLOBAL ' +
    'PARAMETER_LEVEL_PROFILE SLOT_TYPE_TEMPORAL PLAYER_STATUS_PLAYING CAPABILITY_STATUS_ON CAPABILITY_STATUS_OFF ' +
    'EVENT_TYPE_CLICK METADATA_STATE_COMPLETE').split(' ');

  function Context() { this.heard = {}; }
  ('addKeyValue addTemporalSlot addSiteSectionNonTemporalSlot addVideoPlayerNonTemporalSlot registerCustomPlayer registerVideoDisplayBase ' +
    'registerPlayerSlotBase setAdPlayState setCapability setContentVideoElement setCustomDistributor setParameter setProfile setSiteSection ' +
    'setVideoAsset setVideoDisplaySize setVideoState setVideoAssetCurrentTimePosition setVisitor setVisitorHttpHeader setRequestMode ' +
    'setRequestDuration setSubsessionToken setDebugMode addRenderer addTranslator loadExtension startSubsession dispose ' +
    'requestContentStateChange').split(' ').forEach(function (name) { Context.prototype[name] = none; });
  ['getTemporalSlots', 'getNonTemporalSlots', 'getSlots', 'getSlotsByTimePositionClass', 'getSiteSectionNonTemporalSlots',
    'getVideoPlayerNonTemporalSlots'].forEach(function (name) { Context.prototype[name] = list; });
  Context.prototype.getSlotByCustomId = Context.prototype.getParameter = function () { return null; };
  Context.prototype.addEventListener = function (kind, listener) { (this.heard[kind] = this.heard[kind] || []).push(listener); };
  Context.prototype.removeEventListener = function (kind, listener) {
    this.heard[kind] = (this.heard[kind] || []).filter(function (it) { return it !== listener; });
  };
  Context.prototype.dispatchEvent = function (kind, more) {
    var context = this;
    (this.heard[kind] || []).slice().forEach(function (listener) {
      try { listener(Object.assign({ type: kind, target: context, adContext: context }, more)); } catch (e) { /* the page's own affair */ }
    });
  };
  Context.prototype.submitRequest = function () {
    var context = this;
    setTimeout(function () { context.dispatchEvent(SDK.EVENT_REQUEST_COMPLETE, { success: false }); }, 0);
  };

  function Manager() {}
  ['setNetwork', 'setServer', 'setLocation', 'setAssetProfile', 'dispose'].forEach(function (name) { Manager.prototype[name] = none; });
  Manager.prototype.newContext = Manager.prototype.newContextWithContext = function () { return new Context(); };
  Manager.prototype.getVersion = function () { return ''; };

  var SDK = { AdManager: Manager, Context: Context, setLogLevel: none, VideoRenderer: none, HTMLRenderer: none };
  events.forEach(function (name) { SDK['EVENT_' + name] = name.toLowerCase(); });
  constants.forEach(function (name) { SDK[name] = name.toLowerCase(); });
  window.tv = window.tv || {};
  window.tv.freewheel = window.tv.freewheel || {};
  window.tv.freewheel.SDK = SDK;
})();
