// Stands in for Chartbeat, headline tests included: the page that hides for a test shows itself.
(function () {
  'use strict';
  function none() {}
  var early = window.pSUPERFLY;
  window.pSUPERFLY = {
    activity: none, addEngagedTimeListener: none, virtualPage: none, endTracking: none,
    cardsTarget: none, optOut: none, loaded: true
  };
  if (early && typeof early === 'object') {
    for (var key in early) { if (!(key in window.pSUPERFLY)) { window.pSUPERFLY[key] = early[key]; } }
  }
  window.pSUPERFLY_mab = { getHeadlines: function () { return []; } };
  var queue = window._cbq;
  window._cbq = { push: none };
  if (Array.isArray(queue)) { queue.length = 0; }
  // The snippet for headline tests hides the body and leaves a style sheet with this id.
  var flicker = document.getElementById('chartbeat-flicker-control-style');
  if (flicker && flicker.parentNode) { flicker.parentNode.removeChild(flicker); }
  var config = window._sf_async_config || {};
  if (config.flickerControl && document.documentElement) { document.documentElement.style.visibility = ''; }
})();
