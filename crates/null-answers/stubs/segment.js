// Stands in for Segment's analytics.js: nobody is identified, callbacks and `ready` run.
(function () {
  'use strict';
  var before = window.analytics;
  var id = null;
  function later(what) {
    if (typeof what === 'function') {
      setTimeout(function () {
        try { what(); } catch (e) { /* the page's own affair */ }
      }, 0);
    }
  }
  function done() {
    for (var i = 0; i < arguments.length; i++) { later(arguments[i]); }
    return Promise.resolve({});
  }
  var analytics = { initialized: true, invoked: true, VERSION: '0.0.0', Integrations: {} };
  'track page identify group alias screen trackSubmit trackClick trackLink trackForm pageview reset debug on once off emit load setAnonymousId addSourceMiddleware addIntegrationMiddleware addDestinationMiddleware register deregister'
    .split(' ').forEach(function (name) { analytics[name] = done; });
  // What is heard here would be heard on events that never come.
  analytics.on = analytics.once = analytics.off = function () { return analytics; };
  analytics.addSourceMiddleware = analytics.addDestinationMiddleware = function () { return Promise.resolve(analytics); };
  analytics.trackLink = analytics.trackClick = analytics.trackForm = analytics.trackSubmit = function () { return analytics; };
  analytics.ready = function (what) { later(what); return Promise.resolve({}); };
  analytics.user = function () {
    return { id: function () { return id; }, anonymousId: function () { return ''; }, traits: function () { return {}; }, logout: function () {}, reset: function () {} };
  };
  analytics.group = function () { return { id: function () { return id; }, traits: function () { return {}; } }; };
  window.analytics = analytics;
  if (Array.isArray(before)) {
    before.forEach(function (entry) {
      if (Array.isArray(entry) && typeof analytics[entry[0]] === 'function') { analytics[entry[0]].apply(analytics, entry.slice(1)); }
    });
  }
})();
