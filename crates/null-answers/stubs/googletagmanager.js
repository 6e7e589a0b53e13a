// Stands in for gtm.js and gtag/js: the data layer answers every event, no tag is loaded.
(function () {
  'use strict';
  function none() {}
  function run(what, argument) {
    if (typeof what === 'function') {
      setTimeout(function () {
        try { what(argument); } catch (e) { /* the page's own affair */ }
      }, 0);
    }
  }
  var name = 'dataLayer';
  var script = document.currentScript;
  if (script && script.src) {
    var other = /[?&]l=([A-Za-z_$][\w$]*)/.exec(script.src);
    if (other) { name = other[1]; }
  }
  var layer = window[name];
  if (!Array.isArray(layer)) { layer = window[name] = []; }

  // gtag('get', id, field, callback), gtag('event', name, {event_callback}), and objects pushed by hand.
  function take(entry) {
    if (typeof entry === 'function') { run(entry.bind({ get: none, set: none, reset: none })); return; }
    if (!entry || typeof entry !== 'object') { return; }
    if (typeof entry.eventCallback === 'function') { run(entry.eventCallback, 'GTM'); }
    if (typeof entry.length === 'number' && typeof entry[0] === 'string') {
      var fields = entry[entry.length - 1];
      if (entry[0] === 'get') { run(entry[3], ''); return; }
      if (fields && typeof fields === 'object') {
        run(fields.event_callback, '');
        if (fields.event_callback === undefined) { run(fields.hitCallback); }
      }
    }
  }

  var own = layer.push;
  layer.push = function () {
    var length = own.apply(layer, arguments);
    for (var i = 0; i < arguments.length; i++) { take(arguments[i]); }
    return length;
  };
  for (var i = 0; i < layer.length; i++) { take(layer[i]); }

  // The page that hides itself until a container is there.
  var hide = layer.hide;
  if (hide && typeof hide.end === 'function') {
    try { hide.end(); } catch (e) { /* as above */ }
    hide.end = null;
  }
  if (typeof window.gtag !== 'function') {
    window.gtag = function () { layer.push(arguments); };
  }
  window.google_tag_manager = window.google_tag_manager || {};
  window.google_tag_manager[name] = { get: none, set: none, gtmDom: true, gtmLoad: true, subscribers: 0 };
  window.google_tag_data = window.google_tag_data || {};

  // analytics.js may be waited for through the container that would have loaded it.
  var ga = window[window.GoogleAnalyticsObject || 'ga'];
  var queue = ga && ga.q;
  if (queue && queue.length) {
    for (var j = 0; j < queue.length; j++) {
      for (var k = 0; k < queue[j].length; k++) {
        var field = queue[j][k];
        if (field && typeof field === 'object') { run(field.hitCallback); }
      }
    }
  }
})();
