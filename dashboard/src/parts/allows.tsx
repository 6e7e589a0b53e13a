// What is let through though rules block it, with a button that ends it. Shown where there is any.

import { useSignal } from "@preact/signals";
import { api, faultOf, type Fault } from "../api";
import { moment, printable } from "../format";
import type { Allow } from "../model";
import { today } from "../state";
import { Notice } from "./notice";
import { Panel } from "./panel";

export function Allows({ allows, onChanged }: { allows: Allow[]; onChanged: () => void }) {
  const fault = useSignal<Fault | null>(null);
  const revoke = async (allow: Allow): Promise<void> => {
    try {
      await api.revoke(allow.host, allow.client);
      fault.value = null;
    } catch (thrown) {
      fault.value = faultOf(thrown);
    }
    onChanged();
  };
  return (
    <Panel id="allows-title" title="Let through">
      {fault.value && <Notice tone="fault" fault={fault.value} />}
      <ul class="entries">
        {allows.map((allow) => (
          <li class="entry" key={`${allow.host} ${allow.client} ${allow.profile}`}>
            <div class="entry-main">
              <span class="entry-name">{printable(allow.host)}</span>
              {allow.profile === null && (
                <button type="button" class="button button-bare" onClick={() => void revoke(allow)}>
                  Block again
                </button>
              )}
            </div>
            <div class="entry-sub">
              <span>{whom(allow)}</span>
              <span>{allow.until === null ? "always" : `until ${moment(allow.until, today.value)}`}</span>
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function whom(allow: Allow): string {
  if (allow.client !== null) return `for ${printable(allow.client)}`;
  return allow.profile === null ? "for everybody" : `for the profile ${printable(allow.profile)}`;
}
