// Stands in for Sensors Analytics: what the snippet queued is called back, nothing is tracked.
(function () {
  'use strict';
  var name = window.sensorsDataAnalytic201505;
  var before = typeof name === 'string' ? window[name] : name;

  function last(args) {
    var it = args[args.length - 1];
    if (typeof it === 'function') {
      setTimeout(function () {
        try { it(); } catch (e) { /* the page's own affair */ }
      }, 0);
    }
  }
  function silent() { last(arguments); }
  var sensors = { store: { getDistinctId: text, getFirstId: text, get: text }, para: {}, readyState: { state: 3 }, lib_version: '0' };
  function text() { return ''; }
  ('track quick register registerPage registerOnce registerSession registerSessionOnce trackSignup trackAbtest setProfile setOnceProfile ' +
    'appendProfile incrementProfile deleteProfile unsetProfile identify login logout trackLink clearAllRegister clearPageRegister bind unbind ' +
    'resetAnonymousIdentity deleteItem setItem autoTrack autoTrackSinglePage trackHeatMap trackAllHeatMap enableLocalLog init ready ' +
    'setWebViewBridge loginWithKey').split(' ').forEach(function (it) { sensors[it] = silent; });
  sensors.use = function () { return sensors; };
  sensors.getPresetProperties = sensors.getAppStatus = function () { return {}; };
  sensors.getAnonymousID = text;
  sensors.quick = function (what) {
    last(arguments);
    return what === 'getAnonymousID' ? '' : undefined;
  };
  // The snippet keeps each call as its method's name and arguments.
  if (before && Array.isArray(before._q)) {
    before._q.forEach(function (entry) { if (entry && entry[1]) { last(entry[1]); } });
  }
  if (typeof name === 'string') { window[name] = sensors; }
  window.sensorsDataAnalytic201505 = sensors;
})();
