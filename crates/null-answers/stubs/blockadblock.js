// Stands in for BlockAdBlock and FuckAdBlock: every check finds nothing.
(function () {
  'use strict';
  function Detector() { this.clear(); }
  Detector.prototype = {
    constructor: Detector,
    setOption: function () { return this; },
    clear: function () { this.found = []; this.missing = []; return this; },
    clearEvent: function () { return this.clear(); },
    check: function () { this.emitEvent(false); return true; },
    emitEvent: function (found) {
      (found ? [] : this.missing.slice()).forEach(function (listener) {
        try { listener(); } catch (e) { /* the page's own affair */ }
      });
      return this;
    },
    on: function (found, listener) { return found ? this.onDetected(listener) : this.onNotDetected(listener); },
    onDetected: function (listener) { this.found.push(listener); return this; },
    onNotDetected: function (listener) {
      this.missing.push(listener);
      if (typeof listener === 'function') { setTimeout(listener, 0); }
      return this;
    }
  };
  ['BlockAdBlock', 'FuckAdBlock', 'SniffAdBlock'].forEach(function (name) {
    window[name] = Detector;
    window[name.charAt(0).toLowerCase() + name.slice(1)] = new Detector();
  });
})();
