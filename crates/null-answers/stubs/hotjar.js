// Stands in for Hotjar: no visit is recorded, nobody is asked, what waits for readiness goes on.
(function () {
  'use strict';
  function ready(args) {
    if (args[0] === 'ready' || args[0] === 'event_ready') {
      var last = args[args.length - 1];
      if (typeof last === 'function') { setTimeout(last, 0); }
    }
  }
  var queue = window.hj && window.hj.q;
  window.hj = function () { ready(arguments); };
  window.hj.q = [];
  if (queue) { for (var i = 0; i < queue.length; i++) { ready(queue[i]); } }
  window.hjSiteSettings = window.hjSiteSettings || {};
})();
