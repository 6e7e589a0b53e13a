// Stands in for FingerprintJS from version 3 on: every visitor has the same value.
(function () {
  'use strict';
  var VALUE = '00000000000000000000000000000000';
  function result() {
    return { visitorId: VALUE, requestId: '', visitorFound: false, confidence: { score: 0 }, components: {}, version: '3.4.2' };
  }
  var agent = {
    get: function () { return Promise.resolve(result()); },
    getVisitorId: function () { return Promise.resolve(VALUE); }
  };
  window.FingerprintJS = {
    load: function () { return Promise.resolve(agent); },
    hashComponents: function () { return VALUE; },
    componentsToDebugString: function () { return ''; },
    isAndroid: function () { return false; },
    defaultEndpoint: '', defaultScriptUrlPattern: '', sources: {}
  };
  window.FingerprintJS.default = window.FingerprintJS;
})();
