// Stands in for the Scorecard beacon: it counts nothing.
(function () {
  'use strict';
  function none() {}
  var queue = window._comscore;
  window.COMSCORE = { beacon: none, purge: function () { queue = []; window._comscore = queue; }, isNativeSupported: function () { return false; } };
  window.udm_ = none;
  if (Array.isArray(queue)) { queue.length = 0; }
  window._comscore = queue || [];
  window.ns_ = { StreamingAnalytics: function () {
    var self = this;
    ['createPlaybackSession', 'getPlaybackSession', 'notifyPlay', 'notifyPause', 'notifyEnd', 'notifySeekStart', 'notifyBufferStart',
      'notifyBufferStop', 'notifySkipAd', 'setMetadata', 'setLabel'].forEach(function (name) { self[name] = function () { return self; }; });
  } };
})();
