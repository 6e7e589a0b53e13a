// One device with its signals: what each means, when, which names, and what one can do.

import { useSignal } from "@preact/signals";
import { api } from "../api";
import { canBlock, isMild, lastSignal, platformsOf, signalsOf } from "../bypass";
import type { Signal, SignalDevice, SignalName } from "../bypass-model";
import { overrideText } from "../by-hand";
import { doorName } from "../explain";
import { moment, printable } from "../format";
import { t } from "../i18n";
import type { Override } from "../model";
import { routeHash } from "../route";
import { may, today } from "../state";
import { useAct } from "./act";
import { Icon } from "./icons";
import { Notice } from "./notice";
import { SwitchOff } from "./switch-off";

/** What to call a device: its name, else its address. */
const nameOf = (device: SignalDevice): string => printable(device.name ?? device.client);

export function SignalPanel({ device }: { device: SignalDevice }) {
  const id = `device-${device.client.replace(/\W/g, "-")}`;
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 class="panel-title" id={id}>
          <a class="device-name" href={routeHash("clients", { client: device.client })}>
            {nameOf(device)}
          </a>
          {device.name !== null && <code class="device-address quiet">{printable(device.client)}</code>}
        </h2>
        <span class="quiet device-last">{t("bypass.last", { at: moment(lastSignal(device), today.value) })}</span>
      </div>
      <ul class="entries">
        {signalsOf(device).map((signal) => (
          <SignalEntry key={signal.kind} client={device.client} signal={signal} />
        ))}
      </ul>
    </section>
  );
}

function SignalEntry({ client, signal }: { client: string; signal: Signal }) {
  const { kind, count, last_at, names } = signal;
  return (
    <li class="entry signal">
      <div class="signal-what">
        <h3 class="signal-name">
          <span class={isMild(kind) ? "dot dot-good" : "dot dot-bad"} aria-hidden="true" />
          {t(`bypass.kind.${kind}`)}
        </h3>
        <p class="quiet">
          {kind === "silent" ? t("bypass.silentSince", { at: moment(last_at, today.value), count }) : t("bypass.times", { count, at: moment(last_at, today.value) })}
        </p>
      </div>
      <div class="signal-text">
        <p>{t(`bypass.means.${kind}`)}</p>
        {names.length > 0 && <Names client={client} signal={signal} />}
        <details class="skipped">
          <summary>
            <Icon name="chevron" />
            {t(isMild(kind) ? "bypass.whereToLook" : "bypass.whereOff")}
          </summary>
          <SwitchOff platforms={platformsOf(kind)} />
        </details>
      </div>
    </li>
  );
}

function Names({ client, signal }: { client: string; signal: Signal }) {
  const done = useSignal<Override | null>(null);
  const { busy, fault, act } = useAct();
  const block = (host: string): Promise<boolean> =>
    act(async () => {
      done.value = await api.override("block", { host, minutes: "always", client, profile: null });
    });
  const undo = (held: Override): Promise<boolean> =>
    act(async () => {
      await api.endOverride("block", held);
      done.value = null;
    });
  return (
    <details class="skipped">
      <summary>
        <Icon name="chevron" />
        {t(signal.kind === "no_dns" ? "bypass.doors" : "bypass.names", { count: signal.names.length })}
      </summary>
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      {done.value && (
        <Notice tone="good">
          <p class="by-hand-done">
            <span>{overrideText("block", done.value)}</span>
            <button type="button" class="button button-bare" disabled={busy.value} onClick={() => done.value && void undo(done.value)}>
              {t("bypass.undo")}
            </button>
          </p>
        </Notice>
      )}
      <ul class="signal-names">
        {signal.names.map((name) => (
          <NameLine
            key={name.text}
            client={client}
            name={name}
            isDoor={signal.kind === "no_dns"}
            onBlock={may("operator") && canBlock(signal.kind, name) && done.value?.host !== name.text ? () => void block(name.text) : null}
            busy={busy.value}
          />
        ))}
      </ul>
    </details>
  );
}

interface NameLineProps {
  client: string;
  name: SignalName;
  /** What is named is a door. */
  isDoor: boolean;
  onBlock: (() => void) | null;
  busy: boolean;
}

function NameLine({ client, name, isDoor, onBlock, busy }: NameLineProps) {
  const text = isDoor ? doorName(name.text) : printable(name.text);
  return (
    <li>
      <a class="signal-host" href={routeHash("log", isDoor ? { client, door: name.text } : { client, filter: name.text })}>
        {text}
      </a>
      <span class="quiet">{t("bypass.asked", { count: name.count })}</span>
      {name.blocked > 0 && <span class="tag tag-block">{name.blocked >= name.count ? t("bypass.blocked") : t("bypass.blockedSome", { count: name.blocked })}</span>}
      {onBlock && (
        <button type="button" class="button button-bare" disabled={busy} aria-label={t("bypass.blockOf", { name: text })} onClick={onBlock}>
          {t("bypass.block")}
        </button>
      )}
    </li>
  );
}
