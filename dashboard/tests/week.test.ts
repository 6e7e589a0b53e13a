import { describe, expect, it } from "vitest";
import { daysOf, daysText, drawnHours, hoursOf, hoursWords, lanesOf, LANES_MAX, minutesOf, spansOf, timeText, whatWords } from "../src/week";

const days = (text: string): string | undefined => daysOf(text)?.map((is) => (is ? "x" : ".")).join("");

describe("days of a schedule", () => {
  it("are read as Tidegate reads them", () => {
    expect(days("")).toBe("xxxxxxx");
    expect(days("mon-fri")).toBe("xxxxx..");
    expect(days("sat, sun")).toBe(".....xx");
    expect(days("fri-mon")).toBe("x...xxx");
    expect(days("tue-tue,thu")).toBe(".x.x...");
    expect(daysOf("monday")).toBeNull();
    expect(daysOf("mon,,tue")).toBeNull();
  });

  it("are written so that they are read as the same", () => {
    for (let bits = 1; bits < 128; bits++) {
      const chosen = Array.from({ length: 7 }, (_, day) => ((bits >> day) & 1) === 1);
      expect(daysOf(daysText(chosen))).toEqual(chosen);
    }
    expect(daysText(daysOf("mon-wed,fri,sat") ?? [])).toBe("mon-wed,fri,sat");
    expect(daysText(daysOf("") ?? [])).toBe("");
  });
});

describe("a time of day", () => {
  it("has two digits for the hour, and the day may end at 24:00", () => {
    expect([minutesOf("07:30"), minutesOf(""), minutesOf("24:00")]).toEqual([450, 0, 1440]);
    expect([minutesOf("9:00"), minutesOf("24:01"), minutesOf("12:60"), minutesOf("noon")]).toEqual([null, null, null, null]);
    expect([timeText(450), timeText(1440)]).toEqual(["07:30", "00:00"]);
  });
});

describe("the hours on the week", () => {
  it("lie within a day, or go on past midnight from the day on which they begin", () => {
    expect(spansOf({ days: "sat", from: "09:00", to: "21:30" })).toEqual([{ day: 5, from: 540, to: 1290 }]);
    expect(spansOf({ days: "sun", from: "21:00", to: "07:00" })).toEqual([
      { day: 6, from: 1260, to: 1440 },
      { day: 0, from: 0, to: 420 },
    ]);
    expect(spansOf({ days: "mon", from: "", to: "" })).toEqual([{ day: 0, from: 0, to: 1440 }]);
    expect(spansOf({ days: "mon", from: "22:00", to: "24:00" })).toEqual([{ day: 0, from: 1320, to: 1440 }]);
    expect(spansOf({ days: "mon", from: "24:00", to: "" })).toEqual([]);
    expect(spansOf({ days: "someday", from: "", to: "" })).toEqual([]);
  });

  it("are cells where they hold for a part of the hour", () => {
    const grid = hoursOf({ days: "fri", from: "21:30", to: "01:15" });
    const held = grid.flatMap((row, day) => row.flatMap((is, hour) => (is ? [`${day} ${hour}`] : [])));
    expect(held).toEqual(["4 21", "4 22", "4 23", "5 0", "5 1"]);
  });

  it("come back from what was drawn, whichever corner came first", () => {
    const hours = { days: "mon-fri", from: "08:00", to: "13:00" };
    expect(drawnHours({ day: 0, hour: 8 }, { day: 4, hour: 12 })).toEqual(hours);
    expect(drawnHours({ day: 4, hour: 12 }, { day: 0, hour: 8 })).toEqual(hours);
    expect(drawnHours({ day: 0, hour: 20 }, { day: 6, hour: 23 })).toEqual({ days: "", from: "20:00", to: "00:00" });
    for (const [one, other] of [[{ day: 2, hour: 0 }, { day: 3, hour: 23 }], [{ day: 6, hour: 5 }, { day: 6, hour: 5 }]] as const) {
      const cells = hoursOf(drawnHours(one, other)).flat().filter(Boolean).length;
      expect(cells).toBe((other.day - one.day + 1) * (other.hour - one.hour + 1));
    }
  });

  it("stand beside one another only where they overlap", () => {
    const [morning, noon, night] = [
      { days: "", from: "08:00", to: "12:00" },
      { days: "sat", from: "11:00", to: "14:00" },
      { days: "", from: "21:00", to: "07:00" },
    ];
    expect(lanesOf([morning, noon, night])).toEqual({ lanes: [0, 1, 0], count: 2 });
    expect(lanesOf([])).toEqual({ lanes: [], count: 1 });
    expect(lanesOf(Array.from({ length: 9 }, () => morning)).count).toBe(LANES_MAX);
  });
});

describe("a schedule in words", () => {
  it("says days, hours and what holds", () => {
    expect(hoursWords({ days: "mon-fri,sun", from: "21:00", to: "07:00" })).toBe("Mon to Fri, Sun, 21:00 to 07:00 on the next day");
    expect(hoursWords({ days: "", from: "", to: "" })).toBe("every day, all day");
    expect(hoursWords({ days: "sat,sun", from: "20:00", to: "" })).toBe("Sat, Sun, 20:00 to midnight");
    expect(hoursWords({ days: "?\u202e", from: "x", to: "" })).toBe("?\ufffd, x to ");
    expect(whatWords({ block: "", lists: [], otherwise: "block" })).toBe("No internet");
    expect(whatWords({ block: "", lists: ["games", "chat"], otherwise: null })).toBe("Lists games, chat");
    expect(whatWords({ block: "||video.example^", lists: [], otherwise: null })).toBe("Rule ||video.example^");
    expect(whatWords({ block: "", lists: [], otherwise: null })).toBe("Nothing yet");
  });
});
