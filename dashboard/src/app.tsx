// The frame round the views: login or header, notices that concern every view, and the view itself.

import { useEffect } from "preact/hooks";
import { t } from "./i18n";
import { Asides, openAside, useKeys } from "./parts/asides";
import { Header } from "./parts/header";
import { Notice } from "./parts/notice";
import { PausedBanner } from "./parts/protection";
import { languageFault, refreshStatus, route, session, statusFault } from "./state";
import type { View } from "./route";
import { AccountView } from "./views/account";
import { BypassView } from "./views/bypass";
import { CacheView } from "./views/cache";
import { ClientsView } from "./views/clients";
import { ConfigurationView } from "./views/configuration";
import { FleetView } from "./views/fleet";
import { ListsView } from "./views/lists";
import { Log } from "./views/log";
import { Login } from "./views/login";
import { Overview } from "./views/overview";
import { PageView } from "./views/page";
import { PeopleView } from "./views/people";
import { Setup } from "./views/setup";
import { StatisticsView } from "./views/statistics";
import { WelcomeView } from "./views/welcome";
import { WhyView } from "./views/why";

const STATUS_EVERY_MS = 5_000;

function Current({ view }: { view: View }) {
  switch (view) {
    case "overview":
      return <Overview />;
    case "statistics":
      return <StatisticsView />;
    case "log":
      return <Log />;
    case "clients":
      return <ClientsView />;
    case "bypass":
      return <BypassView />;
    case "fleet":
      return <FleetView />;
    case "page":
      return <PageView />;
    case "welcome":
      return <WelcomeView />;
    case "why":
      return <WhyView />;
    case "lists":
      return <ListsView />;
    case "cache":
      return <CacheView />;
    case "people":
      return <PeopleView />;
    case "account":
      return <AccountView />;
    case "configuration":
      return <ConfigurationView />;
    case "setup":
      return <Setup />;
  }
}

function Inside() {
  const { view } = route.value;
  const title = t(`nav.${view}`);
  useKeys();
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) void refreshStatus();
    }, STATUS_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    document.title = `${title} · Tidegate`;
  }, [title]);
  useEffect(() => scrollTo(0, 0), [view]);
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        {t("frame.skip")}
      </a>
      <Header view={view} onPalette={() => openAside("palette")} onKeys={() => openAside("keys")} />
      <main id="main" tabIndex={-1} class={`view view-${view}`}>
        {statusFault.value && <Notice tone="fault" fault={statusFault.value} />}
        {languageFault.value && <Notice tone="fault" fault={languageFault.value} />}
        <PausedBanner />
        <Current view={view} />
      </main>
      <Asides />
    </>
  );
}

/** The address is the router's: the skip link moves the focus, not the address. */
function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

export function App() {
  switch (session.value) {
    case "in":
      return <Inside />;
    case "out":
      return <Login />;
    case "unknown":
      return statusFault.value ? (
        <main class="view">
          <Notice tone="fault" fault={statusFault.value} />
          <button type="button" class="button" onClick={() => void refreshStatus()}>
            {t("frame.askAgain")}
          </button>
        </main>
      ) : (
        <div class="starting" role="status" aria-label={t("frame.loading")} />
      );
  }
}
