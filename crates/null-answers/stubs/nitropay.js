// Stands in for NitroPay: places stay empty, promises for them are kept, the page hears that it is loaded.
(function () {
  'use strict';
  function none() {}
  var before = window.nitroAds && window.nitroAds.queue;

  function place(id) { return { id: id, onNavigate: none, destroy: none, renderContainer: none, enabled: false }; }
  function createAd(id) { return Promise.resolve(Array.isArray(id) ? id.map(place) : place(id)); }
  window.nitroAds = {
    loaded: true, siteId: 0, version: '', createAd: createAd, addUserToken: none, clearUserTokens: none, stop: none,
    queue: { push: run }
  };
  // A queued call is its method's name, its arguments, and what keeps its promise.
  function run(entry) {
    if (entry && entry[0] === 'createAd' && typeof entry[2] === 'function') {
      createAd(entry[1] && entry[1][0]).then(entry[2]);
    }
    return 0;
  }
  if (Array.isArray(before)) { before.forEach(run); }
  setTimeout(function () { document.dispatchEvent(new Event('nitroAds.loaded')); }, 0);
})();
