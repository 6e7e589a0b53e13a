"""The page that waits: each gate holds something back until a third party has spoken, or time is up.

The times are those of the snippets in use: 4 s for the anti-flicker snippet, 1 s for a hit's callback,
3 s for consent, 2 s for a bid by JSONP (its script's error ends the wait at once), XHR and fetch try
again after half a second and less. `app-ready` is marked once all gates are open. A stream and a
WebSocket are opened beside, and opened again when they fail; nobody waits for them.
"""

GATES = ["antiflicker", "hit", "consent", "vast", "jsonp", "config"]

PAGE = """<!doctype html><meta charset=utf-8><title>gated</title><link rel=icon href='data:,'>
<script>
var open = {}, gates = ['antiflicker', 'hit', 'consent', 'vast', 'jsonp', 'config'];
function pass(gate) {
  if (open[gate]) return;
  open[gate] = true;
  performance.mark('gate-' + gate);
  if (gates.every(function (it) { return open[it]; })) performance.mark('app-ready');
}
// Anti-flicker: nothing is seen until the experiment is chosen, or four seconds are over.
(function (root, layer) {
  root.className += ' async-hide';
  var hide = { start: Date.now(), end: function () {
    root.className = root.className.replace(/ ?async-hide/, ''); pass('antiflicker');
  } };
  layer.hide = hide;
  setTimeout(function () { hide.end(); hide.end = null; }, 4000);
})(document.documentElement, window.dataLayer = window.dataLayer || []);
window.ga = window.ga || function () { (ga.q = ga.q || []).push(arguments); }; ga.l = +new Date();
ga('create', 'UA-1', 'auto'); ga('require', 'GTM-1');
</script>
<style>.async-hide { opacity: 0 !important }</style>
<script async src="https://www.google-analytics.com/analytics.js"></script>
<script>window.didomiOnReady = window.didomiOnReady || [];
window.didomiOnReady.push(function () { pass('consent'); });
setTimeout(pass, 3000, 'consent');</script>
<script async src="https://sdk.privacy-center.org/site/loader.js"></script>
<link rel=stylesheet href=/site.css><script src=/site.js></script>
<h1>A page that waits</h1><img width=600 height=400 alt='' src=/hero.png>
<img width=90 height=90 alt='' src=/i0.png><img width=90 height=90 alt='' src=/i1.png>
<script>
// A sign-up goes on when its hit has left, or after a second.
ga('send', 'event', 'page', 'seen', { hitCallback: function () { pass('hit'); } });
setTimeout(pass, 1000, 'hit');
// A player: its film begins once the advertisement is known, or after two more tries.
(function ask(left) {
  var request = new XMLHttpRequest();
  request.open('GET', 'https://vast.video-ads.example/vast.xml?v=3');
  request.onload = function () {
    var file = request.responseXML && request.responseXML.querySelector('MediaFile');
    if (!file) return pass('vast');
    var video = document.createElement('img');
    video.onload = video.onerror = function () { pass('vast'); };
    video.src = file.textContent.trim();
  };
  request.onerror = function () { left ? setTimeout(ask, 500, left - 1) : pass('vast'); };
  request.send();
})(2);
// A bid by JSONP.
window.onBid = function () { pass('jsonp'); };
(function () {
  var tag = document.createElement('script');
  tag.src = 'https://bid.bidder.example/bid.js?callback=onBid';
  tag.onerror = function () { pass('jsonp'); };
  document.head.appendChild(tag);
  setTimeout(pass, 2000, 'jsonp');
})();
// A configuration by fetch with a preflight, tried again with growing pauses.
(function ask(pause) {
  fetch('https://api.ad-config.example/config.json', { headers: { 'X-Page': 'gated', Accept: 'application/json' } })
    .then(function (it) { return it.json(); }).then(function () { pass('config'); })
    .catch(function () { pause > 800 ? pass('config') : setTimeout(ask, pause, pause * 2); });
})(200);
window.stream = new EventSource('https://stream.live-ads.example/events');
(function dial(left) {
  var socket = window.socket = new WebSocket('wss://stream.live-ads.example/socket');
  socket.onclose = function (it) { if (it.code !== 1000 && left) setTimeout(dial, 500, left - 1); };
})(3);
</script>"""

ANALYTICS = """(function () {
  var queue = window.ga && ga.q || [];
  function send(fields) {
    var hit = new Image();
    hit.onload = hit.onerror = function () { fields.hitCallback && fields.hitCallback(); };
    hit.src = 'https://www.google-analytics.com/collect?' + Math.random();
  }
  window.ga = function () {
    var last = arguments[arguments.length - 1];
    if (arguments[0] === 'send') send(typeof last === 'object' ? last : {});
  };
  queue.forEach(function (it) { ga.apply(null, it); });
  var tag = document.createElement('script');
  tag.src = 'https://www.google-analytics.com/gtm/js?id=GTM-1';
  document.head.appendChild(tag);
})();"""

CHOSEN = "window.dataLayer && dataLayer.hide && dataLayer.hide.end && dataLayer.hide.end();"

CONSENT = """(function () {
  var tag = document.createElement('script');
  tag.src = 'https://sdk.privacy-center.org/sdk.js';
  document.head.appendChild(tag);
})();"""

AGREED = """(window.didomiOnReady || []).forEach(function (it) { it({}); });"""

VAST = """<?xml version="1.0"?><VAST version="3.0"><Ad id="1"><InLine><AdTitle>x</AdTitle><Creatives><Creative>
<Linear><Duration>00:00:05</Duration><MediaFiles><MediaFile type="image/gif">
https://vast.video-ads.example/film.gif</MediaFile></MediaFiles></Linear></Creative></Creatives></InLine></Ad></VAST>"""

GIF = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")
SCRIPT = "text/javascript"


def long(text, kilobytes):
    return (text + "/*" + "x" * (kilobytes * 1024) + "*/").encode()


# Host to path to (type, body): what the real ones would say.
ANSWERS = {
    "www.google-analytics.com": {"/analytics.js": (SCRIPT, long(ANALYTICS, 45)), "/collect": ("image/gif", GIF),
                                 "/gtm/js": (SCRIPT, long(CHOSEN, 60))},
    "sdk.privacy-center.org": {"/site/loader.js": (SCRIPT, long(CONSENT, 20)), "/sdk.js": (SCRIPT, long(AGREED, 90))},
    "vast.video-ads.example": {"/vast.xml": ("text/xml", VAST.encode()), "/film.gif": ("image/gif", GIF)},
    "bid.bidder.example": {"/bid.js": (SCRIPT, b"onBid({bids:[1]})")},
    "api.ad-config.example": {"/config.json": ("application/json", b'{"slots":3}')},
    "stream.live-ads.example": {"/events": ("text/event-stream", b"retry: 3000\ndata: 1\n\n"), "/socket": ("ws", b"")},
}
