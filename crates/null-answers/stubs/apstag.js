// Stands in for the Amazon publisher services tag (apstag.js): every auction ends at once without a bid.
(function () {
  'use strict';
  function none() {}
  var before = window.apstag;
  var apstag = {
    punt: none,
    debug: none,
    deleteId: none,
    init: function (config, done) { if (typeof done === 'function') { setTimeout(done, 0); } },
    fetchBids: function (config, done) {
      if (typeof done === 'function') { setTimeout(function () { done([]); }, 0); }
    },
    hints: function () { return []; },
    renderImp: none,
    rpa: none,
    setDisplayBids: none,
    targetingKeys: function () { return []; },
    thirdPartyData: {},
    updateId: none,
    upa: none
  };
  apstag._Q = { push: run };
  // Calls were queued as ['i', arguments] for init and ['f', arguments] for fetchBids.
  var names = { i: 'init', f: 'fetchBids', di: 'deleteId', ui: 'updateId', rpa: 'rpa', upa: 'upa' };
  function run(entry) {
    if (Array.isArray(entry) && names[entry[0]] && entry[1]) { apstag[names[entry[0]]].apply(apstag, entry[1]); }
  }
  window.apstag = apstag;
  if (before && Array.isArray(before._Q)) { before._Q.forEach(run); }
})();
