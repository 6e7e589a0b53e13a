import { describe, expect, it } from "vitest";
import { SHOWN_MAX } from "../src/few";
import type { ClientTrust } from "../src/model";
import { trustShown, trustText } from "../src/trust";

const at = (second: number) => new Date(2026, 10, 21, 9, 5, second);
const today = at(0).toDateString();
const known: ClientTrust = {
  client: "192.0.2.7", trust: "trusts", requests: 1, alerts: 0, silences: 0,
  heard_at: at(0).toISOString(), avoided_until: null,
};

describe("a client's trust in the authority", () => {
  it("is told in words, with the time until which it gets no address", () => {
    expect(trustText(known, today)).toBe("trusts the authority");
    expect(trustText({ ...known, trust: "unknown" }, today)).toBe("not known yet");
    expect(trustText({ ...known, trust: "distrusts", avoided_until: at(7).toISOString() }, today)).toBe(
      "does not trust the authority, so blocked names have no address for it until 09:05:07",
    );
  });

  it("is shown of those first that have none, and of no more than there is room for", () => {
    const clients = Array.from({ length: SHOWN_MAX + 3 }, (_, n): ClientTrust => ({
      ...known, client: `192.0.2.${n}`, trust: n === 1 || n === SHOWN_MAX + 2 ? "distrusts" : "trusts",
    }));
    const { shown, more } = trustShown(clients);
    expect(shown.slice(0, 4).map((client) => client.client)).toEqual([
      "192.0.2.1", `192.0.2.${SHOWN_MAX + 2}`, "192.0.2.0", "192.0.2.2",
    ]);
    expect([shown.length, more]).toEqual([SHOWN_MAX, 3]);
    expect(trustShown(clients.slice(0, 2)).more).toBe(0);
  });
});
