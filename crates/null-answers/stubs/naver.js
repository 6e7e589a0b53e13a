// Stands in for Naver's log script (wcslog.js): visits and sales are taken, nothing is told.
(function () {
  'use strict';
  function none() {}
  function text() { return ''; }
  window.wcs_add = window.wcs_add || {};
  window.wcs = {
    inflow: none, setReferer: none, addTrackingParam: none, checkoutWhitelist: [], trans: none, event: none, isCPA: false,
    cnv: text, getBaseAccountId: text, CPAOrder: none, mileageWhitelist: []
  };
  window.wcs_do = window.wcs_do_all = none;
})();
