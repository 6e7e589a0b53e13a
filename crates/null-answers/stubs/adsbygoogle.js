// Stands in for adsbygoogle.js: every place for an advertisement is marked as done, and unfilled.
(function () {
  'use strict';
  function mark() {
    var places = document.querySelectorAll('ins.adsbygoogle:not([data-adsbygoogle-status])');
    for (var i = 0; i < places.length; i++) {
      places[i].setAttribute('data-adsbygoogle-status', 'done');
      places[i].setAttribute('data-ad-status', 'unfilled');
      places[i].style.display = 'none';
    }
  }
  var before = window.adsbygoogle;
  function push(entry) {
    mark();
    var config = entry && entry.params;
    if (entry && typeof entry.onload === 'function') { setTimeout(entry.onload, 0); }
    if (config && typeof config.google_ad_loaded_callback === 'function') {
      setTimeout(config.google_ad_loaded_callback, 0);
    }
  }
  window.adsbygoogle = { loaded: true, pageState: {}, length: 1, push: function () {
    for (var i = 0; i < arguments.length; i++) { push(arguments[i]); }
    return arguments.length;
  } };
  if (Array.isArray(before)) { before.forEach(push); }
  if (document.readyState === 'loading') { document.addEventListener('DOMContentLoaded', mark); } else { mark(); }
})();
