// Stands in for Yandex Metrika (tag.js, watch.js): counters exist, goals are reached at once.
(function () {
  'use strict';
  var METHODS = ('addFileExtension clearPageView extLink experiments file firstPartyParams firstPartyParamsHashed getClientID hit ' +
    'notBounce params reachGoal setUserID trackLinks userParams clickmap accurateTrackBounce destruct').split(' ');

  function finish(args, value) {
    for (var i = 0; i < args.length; i++) {
      var it = args[i];
      if (it && typeof it === 'object' && typeof it.callback === 'function') { later(it.callback, it.ctx); return; }
    }
    var last = args[args.length - 1];
    var before = args[args.length - 2];
    if (typeof last === 'function') { later(last, null, value); } else if (typeof before === 'function') { later(before, last, value); }
  }
  function later(what, scope, value) {
    setTimeout(function () {
      try { what.call(scope, value); } catch (e) { /* the page's own affair */ }
    }, 0);
  }

  function Counter(settings) {
    this.id = settings && typeof settings === 'object' ? settings.id : settings;
    window['yaCounter' + this.id] = this;
  }
  METHODS.forEach(function (name) {
    Counter.prototype[name] = function () { finish(arguments, name === 'getClientID' ? '0' : undefined); return this; };
  });
  Counter.prototype.getClientID = function (done) { finish([done], '0'); return '0'; };

  var counters = {};
  function ym(id, method) {
    if (method === 'init') {
      counters[id] = counters[id] || new Counter(id);
      var ready = 'yacounter' + id + 'inited';
      setTimeout(function () { document.dispatchEvent(new Event(ready)); }, 0);
      return;
    }
    var counter = counters[id] || (counters[id] = new Counter(id));
    if (typeof counter[method] === 'function') { counter[method].apply(counter, [].slice.call(arguments, 2)); }
  }
  ym.a = [];
  ym.l = Date.now();
  var queue = window.ym && window.ym.a;
  window.ym = ym;
  if (queue) { for (var i = 0; i < queue.length; i++) { ym.apply(null, queue[i]); } }

  var Ya = window.Ya = window.Ya || {};
  Counter.counters = function () { return Object.keys(counters).map(function (id) { return { id: +id, type: 0 }; }); };
  Ya.Metrika = Ya.Metrika2 = Counter;
  ['yandex_metrika_callbacks', 'yandex_metrika_callbacks2', 'yandex_metrika_callback'].forEach(function (name) {
    var waiting = window[name];
    var run = function (what) {
      try { if (typeof what === 'function') { what(); } } catch (e) { /* the page's own affair */ }
      return 0;
    };
    if (typeof waiting === 'function') { run(waiting); }
    if (Array.isArray(waiting)) { waiting.forEach(run); }
    if (name !== 'yandex_metrika_callback') { window[name] = { push: run }; }
  });
})();
