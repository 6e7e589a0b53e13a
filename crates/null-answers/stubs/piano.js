// Stands in for Piano (tinypass): the queue takes everything, functions in it run.
(function () {
  'use strict';
  function none() {}
  var before = window.tp;
  var tp = window.tp = {
    experience: { init: none, execute: none },
    offer: { show: none, startCheckout: none, close: none },
    template: { show: none, close: none },
    pianoId: { init: none, show: none, logout: none, isUserValid: function () { return false; }, getUser: function () { return null; } },
    user: { isUserValid: function () { return false; }, getProvider: function () { return {}; } },
    api: { callApi: none }, myaccount: { show: none }, enableGACrossDomainLinking: none
  };
  function push(entry) {
    if (Array.isArray(entry) && entry[0] === 'init' && typeof entry[1] === 'function') {
      try { entry[1](); } catch (e) { /* the page's own affair */ }
    }
    return 0;
  }
  tp.push = push;
  if (Array.isArray(before)) { before.forEach(push); }
})();
