// Stands in for the Outbrain widget: places for recommendations stay empty, callbacks run.
(function () {
  'use strict';
  function none() {}
  var OBR = window.OBR = window.OBR || {};
  OBR.extern = OBR.extern || {};
  [
    'cancelSync', 'callClick', 'callLoadMore', 'callRecs', 'callUserZapping', 'callWhatIs', 'closeCard', 'closeModal', 'closeTbx',
    'errorInjectionHandler', 'getCountOfRecs', 'getStat', 'imageError', 'manualVideoClicked', 'onOdbReturn', 'onVideoClick',
    'pagerLoad', 'recClicked', 'refreshSpecificWidget', 'refreshWidget', 'reloadWidget', 'renderSpaWidgets', 'researchWidget',
    'returnedError', 'returnedHtmlData', 'returnedIrdData', 'returnedJsonData', 'scrollLoad', 'showDescription', 'showRecInIframe',
    'userZappingMessage', 'zappingFormAction', 'initialize'
  ].forEach(function (name) { OBR.extern[name] = OBR.extern[name] || none; });
  OBR.extern.getCountOfRecs = function () { return 0; };
  OBR.extern.video = OBR.extern.video || { getVideoRecs: none, videoClicked: none };
  OBR.ready = true;
  window.OB_releaseVer = window.OB_releaseVer || '';
})();
