// Stands in for Fingerprint2: every visitor has the same value.
(function () {
  'use strict';
  var VALUE = '00000000000000000000000000000000';
  function later(done, first, second) {
    if (typeof done === 'function') { setTimeout(function () { done(first, second); }, 0); }
  }
  function Fingerprint2() {
    if (!(this instanceof Fingerprint2)) { return new Fingerprint2(); }
  }
  // Version 1: new Fingerprint2().get((value, components) => …).
  Fingerprint2.prototype.get = function (options, done) {
    later(typeof options === 'function' ? options : done, VALUE, []);
  };
  // Version 2: Fingerprint2.get(components => …), also as a promise.
  Fingerprint2.get = function (options, done) {
    later(typeof options === 'function' ? options : done, []);
  };
  Fingerprint2.getV18 = function (options, done) {
    later(typeof options === 'function' ? options : done, VALUE, []);
  };
  Fingerprint2.getPromise = function () { return Promise.resolve([]); };
  Fingerprint2.x64hash128 = function () { return VALUE; };
  Fingerprint2.VERSION = '2.1.4';
  if (typeof module === 'object' && module.exports) { module.exports = Fingerprint2; }
  window.Fingerprint2 = Fingerprint2;
})();
