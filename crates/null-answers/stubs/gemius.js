// Stands in for Gemius (xgemius.js, gplayer.js): hits are taken and none is sent, players may tell all they like.
(function () {
  'use strict';
  function none() {}
  ['gemius_hit', 'gemius_event', 'gemius_init', 'pp_gemius_hit', 'pp_gemius_event', 'pp_gemius_init'].forEach(function (name) {
    window[name] = none;
    // What the snippet gathered is let go.
    if (Array.isArray(window[name + '_pdata'])) { window[name + '_pdata'].length = 0; }
  });
  function Player() {}
  ['newProgram', 'newAd', 'programEvent', 'adEvent', 'setVideoObject', 'setAdditionalParameters', 'changeVideoObject', 'dispose',
    'sendEvent'].forEach(function (name) { Player.prototype[name] = none; });
  window.GemiusPlayer = window.gemiusStream = Player;
})();
