// Stands in for analytics.js: the command queue runs, every hit is "sent" at once, nothing leaves.
(function () {
  'use strict';
  var name = window.GoogleAnalyticsObject || 'ga';
  var before = window[name];
  var trackers = [];

  function call(what) {
    if (typeof what === 'function') {
      try { setTimeout(what, 0); } catch (e) { /* the page's own affair */ }
    }
  }

  // The last argument of a command may be an object of fields; a field may be given as well by name.
  function settle(args) {
    for (var i = 0; i < args.length; i++) {
      var it = args[i];
      if (it && typeof it === 'object' && 'hitCallback' in it) { call(it.hitCallback); return; }
      if (it === 'hitCallback') { call(args[i + 1]); return; }
    }
  }

  function Tracker(fields) {
    this.fields = fields || {};
  }
  Tracker.prototype.get = function (key) { return this.fields[key]; };
  Tracker.prototype.set = function (key, value) {
    if (key && typeof key === 'object') {
      for (var each in key) { this.fields[each] = key[each]; }
    } else if (typeof value !== 'function') {
      this.fields[key] = value;
    }
  };
  Tracker.prototype.send = function () { settle(arguments); };

  function create(args) {
    var last = args[args.length - 1];
    var fields = { trackingId: args[1], name: 't0', clientId: '0.0' };
    if (typeof args[3] === 'string') { fields.name = args[3]; }
    if (last && typeof last === 'object') {
      for (var each in last) { fields[each] = last[each]; }
    }
    var tracker = new Tracker(fields);
    trackers.push(tracker);
    return tracker;
  }

  function byName(wanted) {
    for (var i = 0; i < trackers.length; i++) {
      if (trackers[i].get('name') === wanted) { return trackers[i]; }
    }
    return undefined;
  }

  function ga() {
    var first = arguments[0];
    if (typeof first === 'function') {
      try { first(trackers[0] || create(['create', ''])); } catch (e) { /* as above */ }
      return undefined;
    }
    if (first === 'create') { return create(arguments); }
    if (first === 'set' && trackers[0]) { trackers[0].set(arguments[1], arguments[2]); }
    settle(arguments);
    return undefined;
  }
  ga.create = function () { return create(['create'].concat([].slice.call(arguments))); };
  ga.getByName = byName;
  ga.getAll = function () { return trackers.slice(); };
  ga.remove = function () {};
  ga.loaded = true;
  ga.answer = 42;
  window[name] = ga;

  // Pages that hide themselves until an experiment is chosen.
  var layer = window.dataLayer;
  if (layer && layer.hide && typeof layer.hide.end === 'function') {
    try { layer.hide.end(); } catch (e) { /* as above */ }
  }
  var queue = before && before.q;
  if (queue && queue.length) {
    for (var i = 0; i < queue.length; i++) { ga.apply(null, queue[i]); }
  }
})();
