// Stands in for Mixpanel: what is tracked is dropped, callbacks and `loaded` run.
(function () {
  'use strict';
  var before = window.mixpanel;
  var properties = {};
  var id = '00000000-0000-0000-0000-000000000000';

  function done(args) {
    for (var i = args.length - 1; i >= 0; i--) {
      if (typeof args[i] === 'function') {
        var what = args[i];
        setTimeout(function () {
          try { what({ status: 1, error: null }); } catch (e) { /* the page's own affair */ }
        }, 0);
        return;
      }
    }
  }
  function silent() { done(arguments); }
  function take(target, names, answer) {
    names.split(' ').forEach(function (name) { target[name] = answer; });
    return target;
  }
  function People() {
    return take({}, 'set set_once unset increment append remove union track_charge clear_charges delete_user', silent);
  }
  function Library(name) {
    var self = take(this, 'track track_pageview track_links track_forms track_with_groups time_event alias identify set_config ' +
      'set_group add_group remove_group opt_in_tracking opt_out_tracking clear_opt_in_out_tracking start_session_recording ' +
      'stop_session_recording disable start_batch_senders push', silent);
    self.people = People();
    self.get_group = function () { return People(); };
    self.register = function (some) { Object.keys(some || {}).forEach(function (key) { properties[key] = some[key]; }); };
    self.register_once = self.register;
    self.unregister = function (key) { delete properties[key]; };
    self.reset = function () { properties = {}; };
    self.get_property = function (key) { return properties[key]; };
    self.get_distinct_id = function () { return id; };
    self.get_config = function () { return {}; };
    self.has_opted_in_tracking = function () { return false; };
    self.has_opted_out_tracking = function () { return true; };
    self.get_session_recording_properties = function () { return {}; };
    self.toString = function () { return name || 'mixpanel'; };
    self.init = function (token, config, other) {
      var made = other ? (self[other] = new Library(other)) : self;
      if (config && typeof config.loaded === 'function') {
        try { config.loaded(made); } catch (e) { /* the page's own affair */ }
      }
      return made;
    };
  }
  var library = window.mixpanel = new Library('mixpanel');
  library.__loaded = true;

  // The snippet leaves what was called before the library came: inits in _i, the rest as an array.
  if (before && Array.isArray(before._i)) {
    before._i.forEach(function (entry) { library.init(entry[0], entry[1], entry[2] === 'mixpanel' ? undefined : entry[2]); });
  }
  if (Array.isArray(before)) {
    before.forEach(function (entry) {
      if (typeof entry === 'function') { entry.call(library); return; }
      if (Array.isArray(entry) && typeof library[entry[0]] === 'function') { library[entry[0]].apply(library, entry.slice(1)); }
    });
  }
})();
