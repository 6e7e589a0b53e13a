// Stands in for the experiments API (cx/api.js): every visitor sees the original.
(function () {
  'use strict';
  window.cxApi = {
    ORIGINAL_VARIATION: 0,
    NO_CHOSEN_VARIATION: -1,
    NOT_PARTICIPATING: -2,
    chooseVariation: function () { return 0; },
    getChosenVariation: function () { return 0; },
    setChosenVariation: function () {},
    setCookiePath: function () {},
    setDomainName: function () {},
    setAllowHash: function () {}
  };
})();
