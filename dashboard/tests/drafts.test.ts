import { describe, expect, it } from "vitest";
import { NEW_PROFILE } from "../src/clients";
import type { ProfileSettings } from "../src/client-model";
import { differences, freshKey, groupDraft, groupOf, membersOf, merged, mergedText, ofKind, profileDraft, profileOf } from "../src/drafts";

const kids: ProfileSettings = {
  ...NEW_PROFILE, name: "kids", match: ["192.168.1.7", "id:tablet"], lists: [], groups: ["night"], tags: ["user_child"], otherwise: "block", blocked: "nodata",
  schedule: [
    { block: "", lists: [], otherwise: "block", days: "mon-fri", from: "21:00", to: "07:00" },
    { block: "", lists: ["games"], otherwise: null, days: "", from: "", to: "" },
    { block: "||video.example^", lists: ["games"], otherwise: null, days: "", from: "08:00", to: "12:00" },
  ],
};

describe("a profile that is edited", () => {
  it("is sent as it came if nothing was changed", () => {
    expect(profileOf(profileDraft(kids))).toEqual(kids);
    expect(profileDraft(kids).schedule.map((entry) => entry.kind)).toEqual(["everything", "lists", "rule"]);
  });

  it("has its devices one a line, each once", () => {
    expect(membersOf(" 192.168.1.7 \n\nid:tablet, 192.168.1.7\n")).toEqual(["192.168.1.7", "id:tablet"]);
    expect(profileOf({ ...profileDraft(kids), name: " kids " }).name).toBe("kids");
  });

  it("forgets what a schedule held once another kind is chosen", () => {
    const [night, games] = profileDraft(kids).schedule;
    if (!night || !games) throw new Error("there are two");
    expect(ofKind(night, "rule")).toMatchObject({ block: "", lists: [], from: "21:00" });
    expect(ofKind(games, "everything")).toMatchObject({ block: "", lists: [], otherwise: "block" });
    expect(freshKey(profileDraft(kids).schedule)).toBe(3);
    expect(freshKey([])).toBe(0);
  });
});

describe("a group that is edited", () => {
  it("has no list where none is chosen", () => {
    const night = { name: "night", lists: [], schedule: kids.schedule };
    expect(groupOf(groupDraft(night))).toEqual({ ...night, lists: null });
    expect(groupOf(groupDraft({ ...night, lists: ["games"] })).lists).toEqual(["games"]);
  });
});

describe("what somebody else changed", () => {
  it("is told in words", () => {
    expect(differences(kids, kids)).toEqual([]);
    expect(differences(kids, { ...kids, lists: null, match: [] })).toEqual(["its devices", "its lists"]);
  });

  it("is taken over, but for what was changed here too", () => {
    const mine = { ...kids, lists: ["games"], otherwise: null };
    const theirs = { ...kids, lists: null, match: ["192.168.1.9"] };
    const both = merged(kids, mine, theirs);
    expect(both.settings).toEqual({ ...kids, lists: ["games"], otherwise: null, match: ["192.168.1.9"] });
    expect(mergedText(both)).toBe(
      "Loaded again. Meanwhile somebody changed its devices, its lists; that stands here now. What you typed is kept for its lists.",
    );
    expect(merged(kids, mine, kids).settings).toEqual(mine);
    expect(mergedText(merged(kids, mine, kids))).toBe("Loaded again: nothing of this was changed. Save once more.");
  });
});
