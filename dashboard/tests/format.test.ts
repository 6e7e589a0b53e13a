import { describe, expect, it } from "vitest";
import { asSentence, bytes, count, countdown, micros, moment, percent, printable, short, span, stepName, subjectParts, withUnits } from "../src/format";

describe("numbers", () => {
  it("separate thousands and are shortened for axes", () => {
    expect(count(184_203)).toBe("184,203");
    expect([0, 999, 1000, 1500, 184_203, 999_600, 2_500_000].map(short)).toEqual([
      "0", "999", "1k", "1.5k", "184k", "1M", "2.5M",
    ]);
  });

  it("never call a share nothing, or all, that is not", () => {
    expect([0, 0.00002, 0.173, 0.99999, 1].map(percent)).toEqual(["0 %", "< 0.1 %", "17.3 %", "> 99.9 %", "100 %"]);
  });

  it("carry the unit that reads best", () => {
    expect([38, 1400, 9960, 24_000, 2_100_000].map(micros)).toEqual(["38 µs", "1.4 ms", "10 ms", "24 ms", "2.1 s"]);
    expect([43, 2048, 38_400_000].map(bytes)).toEqual(["43 B", "2.0 KiB", "37 MiB"]);
    expect([4, 720, 12_000, 187_200, 86_400].map(span)).toEqual(["4 s", "12 min", "3 h 20 min", "2 d 4 h", "1 d"]);
    expect([247, 3729, 0].map(countdown)).toEqual(["4:07", "1:02:09", "0:00"]);
    expect([60, 600, 3600, 21_600, 86_400].map(stepName)).toEqual(["minute", "10 minutes", "hour", "6 hours", "day"]);
  });

  it("in the API's sentences too, where they are large", () => {
    const said = (text: string) => withUnits(text).replaceAll("\u00a0", " ");
    expect(said("200 OK, 300000 bytes in memory: fresh for 600 s, 35 s old; then stale for 604800 s")).toBe(
      "200 OK, 293 KiB in memory: fresh for 10 min, 35 s old; then stale for 7 d",
    );
    expect(withUnits("15 bytes, 99 s old, for 7 days")).toBe("15\u00a0bytes, 99\u00a0s old, for 7\u00a0days");
  });
});

describe("times", () => {
  it("name the day only if it is not today", () => {
    const at = new Date(2026, 10, 21, 9, 5, 7);
    expect(moment(at.toISOString(), at.toDateString())).toBe("09:05:07");
    expect(moment(at.toISOString(), new Date(2026, 10, 22).toDateString())).toBe("21 Nov 09:05:07");
    expect(moment("soup", "")).toBe("soup");
  });
});

describe("texts from the network", () => {
  it("lose what misleads the eye or a terminal", () => {
    expect(printable("ads\u001b[31m.example\u202egpj.exe\u200b")).toBe("ads\ufffd[31m.example\ufffdgpj.exe\ufffd");
    expect(printable("bücher.example/ß")).toBe("bücher.example/ß");
  });

  it("are split so that the host stands out", () => {
    expect(subjectParts("https://ads.example:8443/x?y=http://z/")).toEqual({
      before: "https://", host: "ads.example:8443", after: "/x?y=http://z/",
    });
    expect(subjectParts("ads.example")).toEqual({ before: "", host: "ads.example", after: "" });
    expect(subjectParts("")).toEqual({ before: "", host: ".", after: "" });
  });

  it("become sentences, but names and keys stay as they are", () => {
    expect(asSentence("this is not the token")).toBe("This is not the token.");
    expect(asSentence("lists/ads.hosts vanished")).toBe("lists/ads.hosts vanished.");
    expect(asSentence("admin.token is empty!")).toBe("admin.token is empty!");
    expect(asSentence(" ")).toBe("");
  });
});
