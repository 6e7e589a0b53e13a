// Stands in for AT Internet (smarttag.js): tags exist and are silent, callbacks run.
(function () {
  'use strict';
  function done() {
    for (var i = 0; i < arguments.length; i++) {
      var it = arguments[i];
      var back = it && typeof it === 'object' ? it.callback : it;
      if (typeof back === 'function') { setTimeout(back, 0); }
    }
    return true;
  }
  function group() {
    var made = {};
    'add set send remove update onClick onPageLoad onError dispatch disable enable initialize session startScript cookie setProps'.split(' ')
      .forEach(function (name) { made[name] = done; });
    return made;
  }
  function Tag() {
    var self = this;
    ('page click clickListener order cart cartAwaitingPayment customVars dynamicLabel customObject internalSearch identifiedVisitor mvTesting nuggAd ' +
      'publisher selfPromotion richMedia campaigns ecommerce privacy utils events aisle product tvTracking storage consent avinsights')
      .split(' ').forEach(function (name) { self[name] = group(); });
    self.dispatch = self.emit = self.setProp = self.setProps = done;
    self.event = group();
    self.getConfig = function () { return undefined; };
    self.getContext = self.getConfig;
    self.debug = group();
    self.version = '';
  }
  window.ATInternet = { Tracker: { Tag: Tag, instances: [] }, Utils: {}, onTrackerLoad: undefined };
  if (typeof window.atAsyncInit === 'function') { setTimeout(window.atAsyncInit, 0); }
})();
