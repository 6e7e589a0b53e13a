// Runs every stand-in in a page of its own kind: what waited for the real script must go on.
// Called by stubs.rs as `node stubs.cjs FOLDER`; prints a line for each page that does not, and exits 1.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const folder = process.argv[2];

// As much of a browser as the stand-ins touch.
function page() {
  const listeners = {};
  const places = [];
  const window = {
    console, setTimeout, clearTimeout, Promise, Event: class { constructor(type) { this.type = type; } },
    location: { href: 'https://news.example/', went: [], assign(url) { this.went.push(url); } },
    document: {
      readyState: 'complete', currentScript: null, documentElement: { style: {} },
      places,
      querySelectorAll: () => places,
      getElementById: () => null,
      addEventListener: (kind, listener) => { (listeners[kind] = listeners[kind] || []).push(listener); },
      dispatchEvent: (event) => (listeners[event.type] || []).forEach((listener) => listener(event)),
    },
  };
  window.window = window.self = window;
  return vm.createContext(window);
}

// Each: the file, what the page does before it (its snippet), what it does after, and gives back
// what is to become true. `done(word)` makes a callback that must be called.
const pages = [
  ['google-analytics.js', (w, done) => {
    w.GoogleAnalyticsObject = 'ga';
    w.ga = function () { w.ga.q.push(arguments); };
    w.ga.q = [];
    w.dataLayer = { hide: { end: done('hide.end') } };
    w.ga('create', 'UA-1', 'auto');
    w.ga(done('ready function'));
    w.ga('send', 'pageview', { hitCallback: done('queued hitCallback') });
  }, (w, done) => {
    w.ga('send', 'event', 'a', 'b', { hitCallback: done('hitCallback') });
    w.ga('send', { hitType: 'pageview', hitCallback: done('hitCallback in one object') });
    const tracker = w.ga.create('UA-1', 'auto');
    tracker.send('pageview', { hitCallback: done("tracker's hitCallback") });
    return [w.ga.loaded === true, w.ga.getAll().length > 0, w.ga.getByName('t0').get('trackingId') === 'UA-1'];
  }],
  ['google-analytics-ga.js', (w, done) => { w._gaq = [['_setAccount', 'x'], done('queued function')]; },
    (w, done) => {
      w._gaq.push(done('pushed function'), ['_trackEvent', 'a', 'b']);
      w._gaq.push(['_link', 'https://shop.example/x'], ['_link', 'javascript:alert(1)']);
      w._gat._getTracker('x')._trackPageview();
      return [w.location.went.length === 1, w.location.went[0] === 'https://shop.example/x'];
    }],
  ['google-experiments.js', () => {}, (w) => [w.cxApi.chooseVariation() === 0]],
  ['googletagmanager.js', (w, done) => {
    w.dataLayer = [{ 'gtm.start': 1 }, { event: 'x', eventCallback: done('queued eventCallback') }];
    w.dataLayer.hide = { end: done('hide.end'), 'GTM-1': true };
  }, (w, done) => {
    w.dataLayer.push({ event: 'click', eventCallback: done('eventCallback') });
    w.gtag('event', 'x', { event_callback: done('event_callback') });
    w.gtag('get', 'G-1', 'client_id', done('gtag get'));
    return [w.dataLayer.length === 5, typeof w.google_tag_manager === 'object'];
  }],
  ['googletag-gpt.js', (w, done) => { w.googletag = { cmd: [done('queued cmd')] }; },
    (w, done) => {
      const { googletag } = w;
      const slot = googletag.defineSlot('/1/a', [[300, 250]], 'place').setTargeting('k', 'v').addService(googletag.pubads());
      let empty = false;
      const ended = done('slotRenderEnded');
      googletag.pubads().addEventListener('slotRenderEnded', (event) => { empty = event.isEmpty; ended(); });
      googletag.pubads().enableSingleRequest();
      googletag.pubads().collapseEmptyDivs().setTargeting('a', ['b']);
      googletag.enableServices();
      googletag.cmd.push(() => googletag.display('place'));
      googletag.sizeMapping().addSize([0, 0], []).build();
      return [googletag.apiReady, googletag.pubadsReady, slot.getTargeting('k')[0] === 'v',
        googletag.pubads().getSlots().length === 1, () => empty === true];
    }],
  ['adsbygoogle.js', (w) => {
    w.document.places.push({ style: {}, set: {}, setAttribute(name, value) { this.set[name] = value; } });
    w.adsbygoogle = [{}];
  }, (w) => {
    w.adsbygoogle.push({});
    return [w.adsbygoogle.loaded === true, w.document.places[0].set['data-ad-status'] === 'unfilled'];
  }],
  ['ima3.js', () => {}, (w, done) => {
    const { ima } = w.google;
    new ima.AdDisplayContainer({}, {}).initialize();
    const loader = new ima.AdsLoader();
    loader.getSettings().setLocale('de');
    const failed = done('AD_ERROR');
    let code = 0;
    loader.addEventListener(ima.AdErrorEvent.Type.AD_ERROR, (event) => { code = event.getError().getErrorCode(); failed(); }, false);
    loader.requestAds(new ima.AdsRequest());
    const manager = new ima.AdsManager();
    manager.addEventListener(ima.AdEvent.Type.CONTENT_RESUME_REQUESTED, done('CONTENT_RESUME_REQUESTED'));
    manager.init(640, 360, ima.ViewMode.NORMAL);
    manager.start();
    new ima.dai.api.StreamManager({}).addEventListener([ima.dai.api.StreamEvent.Type.ERROR], () => {});
    return [() => code === ima.AdError.ErrorCode.VAST_EMPTY_RESPONSE];
  }],
  ['apstag.js', (w, done) => { w.apstag = { _Q: [['i', [{ pubID: '1' }]], ['f', [{ slots: [] }, done('queued fetchBids')]]] }; },
    (w, done) => {
      w.apstag.fetchBids({ slots: [] }, done('fetchBids'));
      w.apstag.setDisplayBids();
      return [Array.isArray(w.apstag.targetingKeys())];
    }],
  ['amazon-ads.js', () => {}, (w, done) => {
    w.amznads.getAdsCallback('1', done('getAdsCallback'));
    return [w.amznads.hasAds() === false, typeof w.amzn_ads === 'function'];
  }],
  ['at-internet.js', () => {}, (w, done) => {
    const tag = new w.ATInternet.Tracker.Tag();
    tag.page.set({ name: 'a' });
    tag.click.send({ name: 'b', callback: done('click callback') });
    return [tag.dispatch() === true];
  }],
  ['blockadblock.js', () => {}, (w, done) => {
    w.fuckAdBlock.onNotDetected(done('fuckAdBlock.onNotDetected'));
    new w.BlockAdBlock({ checkOnLoad: true }).on(false, done('on(false)')).onDetected(() => { throw new Error('found'); });
    return [w.blockAdBlock.check() === true];
  }],
  ['chartbeat.js', (w) => { w._sf_async_config = { flickerControl: true }; w.document.documentElement.style.visibility = 'hidden'; },
    (w) => { w.pSUPERFLY.virtualPage('/x'); w._cbq.push(['_acct', 'anon']); return [w.document.documentElement.style.visibility === '']; }],
  ['didomi.js', (w, done) => { w.didomiOnReady = [done('queued didomiOnReady')]; }, (w, done) => {
    w.didomiOnReady.push(done('didomiOnReady'));
    w.Didomi.on('consent.changed', () => {});
    return [w.Didomi.notice.isVisible() === false, w.Didomi.getUserStatus().vendors !== undefined];
  }],
  ['facebook-pixel.js', (w) => { w.fbq = function () {}; w.fbq.queue = []; }, (w) => { w.fbq('track', 'PageView'); return [w.fbq.loaded]; }],
  ['fingerprint2.js', () => {}, (w, done) => {
    new w.Fingerprint2().get(done('instance get'));
    w.Fingerprint2.get({}, done('static get'));
    w.Fingerprint2.getPromise({}).then(done('getPromise'));
    return [w.Fingerprint2.x64hash128('a', 31).length === 32];
  }],
  ['fingerprint3.js', () => {}, (w, done) => {
    const got = done('visitorId');
    w.FingerprintJS.load({ apiKey: 'x' }).then((agent) => agent.get()).then((result) => result.visitorId.length === 32 && got());
    return [];
  }],
  ['freewheel.js', () => {}, (w, done) => {
    const { SDK } = w.tv.freewheel;
    const context = new SDK.AdManager().newContext();
    context.setProfile('1:x');
    context.addTemporalSlot('pre', SDK.ADUNIT_PREROLL, 0);
    const complete = done('EVENT_REQUEST_COMPLETE');
    let asked = true;
    context.addEventListener(SDK.EVENT_REQUEST_COMPLETE, (event) => { asked = event.success; complete(); });
    context.submitRequest(3);
    return [context.getTemporalSlots().length === 0, SDK.EVENT_SLOT_ENDED !== SDK.EVENT_ERROR, () => asked === false];
  }],
  ['gemius.js', (w) => {
    w.gemius_hit = function () { w.gemius_hit_pdata.push(arguments); };
    w.gemius_hit_pdata = [['x']];
  }, (w) => {
    w.gemius_hit('id');
    w.pp_gemius_event('click');
    const player = new w.GemiusPlayer('p', 'id', {});
    player.newProgram('film', {});
    player.programEvent('film', 0, 'play');
    return [w.gemius_hit_pdata.length === 0];
  }],
  ['hotjar.js', (w) => { w.hj = function () { w.hj.q.push(arguments); }; w.hj.q = []; }, (w, done) => { w.hj('ready', done('ready')); return []; }],
  ['matomo.js', (w, done) => { w._paq = [['setSiteId', '1'], [done('queued function')], ['trackPageView']]; }, (w, done) => {
    w._paq.push(['trackEvent', 'a', 'b']);
    w._paq.push([function () { this.getVisitorId(); done('function with tracker')(); }]);
    w._paq.push(['trackGoal', 1, 0, {}, done('callback')]);
    return [w.Matomo.getTracker('u', 1).getVisitorId().length === 16, w.Piwik === w.Matomo, w.Matomo.initialized];
  }],
  ['metrika.js', (w, done) => {
    w.ym = function () { (w.ym.a = w.ym.a || []).push(arguments); };
    w.document.addEventListener('yacounter1inited', done('inited'));
    w.ym(1, 'init', {});
    w.ym(1, 'reachGoal', 'x', {}, done('queued reachGoal'));
    w.yandex_metrika_callbacks2 = [done('callbacks2')];
  }, (w, done) => {
    w.ym(1, 'getClientID', done('getClientID'));
    w.yaCounter1.hit('/x', { callback: done('hit') });
    return [new w.Ya.Metrika2({ id: 2 }).id === 2, typeof w.yaCounter2 === 'object'];
  }],
  ['mixpanel.js', (w, done) => {
    w.mixpanel = [['track', 'x', {}, done('queued track')]];
    w.mixpanel._i = [['token', { loaded: done('loaded') }, 'mixpanel']];
  }, (w, done) => {
    w.mixpanel.track('y', {}, done('track'));
    w.mixpanel.people.set({ a: 1 });
    w.mixpanel.register({ k: 'v' });
    return [w.mixpanel.get_property('k') === 'v', typeof w.mixpanel.get_distinct_id() === 'string'];
  }],
  ['naver.js', (w) => { w.wcs_add = { wa: 's_1' }; }, (w) => {
    w.wcs.inflow('shop.example');
    w.wcs.trans({ type: 'purchase' });
    w.wcs_do({ cnv: w.wcs.cnv('1', '2') });
    return [w.wcs_add.wa === 's_1'];
  }],
  ['nitropay.js', (w, done) => {
    w.nitroAds = { queue: [['addUserToken', ['x']], ['createAd', ['place', {}], done('queued createAd')]] };
    w.document.addEventListener('nitroAds.loaded', done('nitroAds.loaded'));
  }, (w, done) => {
    let count = 0;
    const both = done('createAd of two');
    w.nitroAds.createAd(['a', 'b'], {}).then((ads) => { count = ads.length; both(); });
    w.nitroAds.createAd('c', {}).then((ad) => ad.onNavigate());
    return [w.nitroAds.loaded, () => count === 2];
  }],
  ['outbrain.js', () => {}, (w) => { w.OBR.extern.researchWidget(); return [w.OBR.extern.getCountOfRecs() === 0]; }],
  ['pardot.js', (w) => { w.piAId = '1'; w.piCId = '2'; }, (w) => {
    w.piTracker(w.location.href);
    w.checkNamespace('pi.tracker').title = 'x';
    return [w.pi.tracker.title === 'x', w.piGetCookie('visitor_id') === ''];
  }],
  ['piano.js', (w, done) => { w.tp = [['setAid', 'x'], ['init', done('init')]]; }, (w) => { w.tp.push(['setDebug', true]); return [w.tp.user.isUserValid() === false]; }],
  ['popads.js', () => {}, (w) => { w._pop.push(['siteId', 1]); return [w.PopAds.loaded]; }],
  ['prebid.js', (w, done) => { w.pbjs = { que: [done('queued que')] }; }, (w, done) => {
    w.pbjs.que.push(() => {
      w.pbjs.addAdUnits([{ code: 'a' }]);
      w.pbjs.onEvent('auctionEnd', done('auctionEnd'));
      w.pbjs.requestBids({ bidsBackHandler: done('bidsBackHandler') });
    });
    w.pbjs.setConfig({ debug: false });
    return [w.pbjs.libLoaded, w.pbjs.getConfig('debug') === false, w.pbjs.adUnits.length === 1];
  }],
  ['scorecard.js', (w) => { w._comscore = [{ c1: '2' }]; }, (w) => { w.COMSCORE.beacon({ c1: '2' }); w.COMSCORE.purge(); return [w._comscore.length === 0]; }],
  ['segment.js', (w, done) => { w.analytics = [['ready', done('queued ready')], ['page']]; }, (w, done) => {
    w.analytics.track('x', {}, {}, done('track'));
    w.analytics.ready(done('ready'));
    return [w.analytics.initialized, w.analytics.user().id() === null];
  }],
  ['sensors.js', (w, done) => {
    w.sensorsDataAnalytic201505 = 'sensors';
    w.sensors = { _q: [['track', ['buy', {}, done('queued track')]]] };
  }, (w, done) => {
    w.sensors.init({ server_url: 'https://x.example' });
    w.sensors.quick('isReady', done('isReady'));
    w.sensors.login('1', done('login'));
    return [w.sensors.use('plugin') === w.sensors, w.sensors.quick('getAnonymousID') === ''];
  }],
  ['taboola.js', (w) => { w._taboola = [{}]; }, (w) => { w._taboola.push({ flush: true }); return [w.TRC.implClass !== undefined]; }],
];

const wrong = [];

async function run([file, before, after]) {
  const window = page();
  const waiting = new Set();
  const done = (word) => { waiting.add(word); return () => waiting.delete(word); };
  try {
    before(window, done);
    vm.runInContext(fs.readFileSync(path.join(folder, file), 'utf8'), window, { filename: file });
    const facts = after(window, done);
    // Whatever is called later is called by timers of length zero, chained twice at most.
    for (let turn = 0; turn < 20; turn++) { await new Promise((resolve) => setImmediate(() => setTimeout(resolve, 0))); }
    facts.forEach((fact, index) => {
      if (!(typeof fact === 'function' ? fact() : fact)) { wrong.push(`${file}: fact ${index} is not true`); }
    });
    waiting.forEach((word) => wrong.push(`${file}: ${word} was never called`));
  } catch (error) {
    wrong.push(`${file}: ${error.stack}`);
  }
}

async function module(file) {
  const text = fs.readFileSync(path.join(folder, file), 'utf8');
  const made = await import('data:text/javascript,' + encodeURIComponent(text));
  const agent = await made.default.load({});
  if ((await agent.get()).visitorId.length !== 32) { wrong.push(`${file}: no value`); }
}

(async () => {
  for (const each of pages) { await run(each); }
  await module('fingerprint-module.js');
  const known = new Set([...pages.map(([file]) => file), 'fingerprint-module.js']);
  fs.readdirSync(folder).filter((file) => !known.has(file)).forEach((file) => wrong.push(`${file}: no page waits for it`));
  wrong.forEach((line) => console.log(line));
  process.exitCode = wrong.length === 0 ? 0 : 1;
  if (wrong.length === 0) { console.log(`${known.size} stand-ins`); }
})();
