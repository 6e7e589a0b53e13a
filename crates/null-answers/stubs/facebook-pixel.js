// Stands in for the Facebook pixel (fbevents.js): calls are taken and dropped.
(function () {
  'use strict';
  function fbq() {}
  fbq.callMethod = function () {};
  fbq.push = fbq;
  fbq.loaded = true;
  fbq.version = '2.0';
  fbq.queue = [];
  fbq.getState = function () { return { pixels: [], pixelInitializers: {} }; };
  window.fbq = fbq;
  window._fbq = fbq;
})();
