// Stands in for the Taboola loader: the queue takes everything and shows nothing.
(function () {
  'use strict';
  window._taboola = { push: function () { return 0; }, length: 0 };
  window.TRC = window.TRC || {};
  window.TRC.implClass = window.TRC.implClass || {};
})();
