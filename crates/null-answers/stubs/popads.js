// Stands in for PopAds: its queue is there, and opens no window.
(function () {
  'use strict';
  window._pop = { push: function () { return 0; }, length: 0 };
  window.PopAds = window.popns = Object.freeze({ show: function () {}, loaded: true });
})();
