// Where Tidegate listens: an address of the machine, the doors, and whether their ports are free.

import { doorsOf, portsInTheWay, type StepProps } from "../first-run";
import type { FirstRun, OwnAddress, PortState, WantedPort } from "../first-run-model";
import { doorName } from "../explain";
import { printable } from "../format";
import { t } from "../i18n";
import { Checks } from "./checks";
import { Copyable } from "./copy";
import { Notice } from "./notice";

const DOTS: Record<PortState, string> = { free: "dot-good", ours: "dot-good", held: "dot-bad", forbidden: "dot-bad" };

export function AddressStep({ known, chosen, onChange }: StepProps) {
  const inTheWay = portsInTheWay(known.ports, chosen.doors);
  const wanted = known.ports.filter((port) => chosen.doors.includes(port.door));
  const address = known.addresses.find((one) => one.address === chosen.address);
  return (
    <div class="welcome-content">
      <p>{t("welcome.addressIntro")}</p>
      <Addresses known={known} chosen={chosen.address} onChoose={(one) => onChange({ address: one })} />
      {address?.kind === "public" && (
        <Notice tone="land">
          <p>{t("welcome.publicAddress")}</p>
        </Notice>
      )}
      {address?.kind === "loopback" && (
        <Notice tone="land">
          <p>{t("welcome.loopbackAddress")}</p>
        </Notice>
      )}
      <Checks
        legend={t("welcome.doors")}
        options={doorsOf(known.ports).map((door) => ({ value: door, text: doorName(door), note: doorNote(door) }))}
        chosen={chosen.doors}
        onChange={(doors) => onChange({ doors })}
      />
      <h3>{t("welcome.ports")}</h3>
      <ul class="entries welcome-ports">
        {wanted.map((port, n) => (
          <Port key={`${port.protocol} ${port.port}`} port={port} isRemedyTold={wanted[n + 1]?.remedy === port.remedy} />
        ))}
      </ul>
      <p class="quiet" role="status">
        {inTheWay.length === 0 ? t("welcome.portsFree") : t("welcome.portsInTheWay", { count: inTheWay.length })}
      </p>
      {known.pixel.gated && chosen.doors.includes("pixel") && <Gated pixel={known.pixel} address={known.pixel.address ?? chosen.address} />}
    </div>
  );
}

/** What a door is for; a door that is not known needs no word. */
function doorNote(door: string): string {
  switch (door) {
    case "dns":
    case "pixel":
    case "proxy":
      return t(`welcome.door.${door}`);
    default:
      return "";
  }
}

function Addresses({ known, chosen, onChoose }: { known: FirstRun; chosen: string; onChoose: (address: string) => void }) {
  return (
    <fieldset class="checks">
      <legend class="field-name">{t("welcome.address")}</legend>
      {known.addresses.map((one: OwnAddress) => (
        <label key={`${one.interface} ${one.address}`} class="check">
          <input type="radio" name="welcome-address" value={one.address} checked={one.address === chosen} onChange={() => onChoose(one.address)} />
          <span class="welcome-address">{printable(one.address)}</span>
          <span class="quiet">{t(`welcome.kind.${one.kind}`, { card: printable(one.interface) })}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface PortProps {
  port: WantedPort;
  /** It stands at the next one. */
  isRemedyTold: boolean;
}

function Port({ port, isRemedyTold }: PortProps) {
  return (
    <li class="entry">
      <div class="entry-main">
        <span class="entry-name">
          <span class={`dot ${DOTS[port.state]}`} aria-hidden="true" />
          {t("welcome.port", { port: String(port.port), protocol: port.protocol.toUpperCase(), door: doorName(port.door) })}
        </span>
        <span class="entry-figure">
          {port.state === "held" && port.holder ? t("welcome.heldBy", { holder: printable(port.holder) }) : t(`welcome.state.${port.state}`)}
        </span>
      </div>
      {port.remedy && !isRemedyTold && (port.state === "held" || port.state === "forbidden") && (
        <div class="welcome-remedy">
          <Copyable label={t("welcome.remedy")} text={printable(port.remedy)} />
        </div>
      )}
    </li>
  );
}

/** Browsers ask before a page may reach an address of the network: a blocked host would ask all the time. */
function Gated({ pixel, address }: { pixel: FirstRun["pixel"]; address: string }) {
  return (
    <Notice tone="land">
      <p>{t("welcome.gated", { address })}</p>
      {pixel.remedy && (
        <div class="welcome-remedy">
          <Copyable label={t("welcome.remedy")} text={printable(pixel.remedy)} />
        </div>
      )}
    </Notice>
  );
}
