import { describe, expect, it } from "vitest";
import { sentence, shellWord, sourceText, targetOf, whyCommand } from "../src/explain";

const rule = { list: "starter", line: 12, text: "||ads.example^" };

describe("a verdict", () => {
  it("names the rule that decided", () => {
    expect(sentence({ action: "block", cause: "rule", rule })).toEqual({ verdict: "Blocked", reason: "rule", rule });
    expect(sentence({ action: "pass", cause: "rule", rule }).reason).toBe("allowed by rule");
  });

  it("says why there is no rule", () => {
    expect(sentence({ action: "pass", cause: "none", rule: null }).reason).toContain("no rule");
    expect(sentence({ action: "pass", cause: "paused", rule: null }).reason).toContain("paused");
    const summary = "passes: ads.example is let through for a while";
    expect(sentence({ action: "pass", cause: "paused", rule: null, summary }).reason).toBe(
      "ads.example is let through for a while.",
    );
    expect(sentence({ action: "pass", cause: "not_asked", rule: null }).reason).toContain("not asked");
    expect(sentence({ action: "pass", cause: "eclipse", rule: null }).reason).toBe("eclipse");
  });
});

describe("the command", () => {
  it("asks the same on a terminal", () => {
    expect(whyCommand({ target: "https://ads.example/x.js", client: "10.0.0.7", kind: "script", door: "proxy" })).toBe(
      "tidegate why --client 10.0.0.7 --kind script --door proxy https://ads.example/x.js",
    );
    expect(whyCommand({ target: "ads.example", client: "", kind: "" })).toBe("tidegate why ads.example");
  });

  it("lets nothing of a stranger's name reach the shell", () => {
    expect(whyCommand({ target: "https://x.example/?a=1&b=$(reboot)" })).toBe(
      "tidegate why 'https://x.example/?a=1&b=$(reboot)'",
    );
    expect(shellWord("it's\n; reboot")).toBe("'it'\\''s\ufffd; reboot'");
    expect(whyCommand({ target: "-rf.example" })).toBe("tidegate why -- -rf.example");
    expect(whyCommand({ target: "a.example", page: "news.example" }, "/var/lib/tidegate")).toBe(
      "tidegate why --state /var/lib/tidegate --page news.example a.example",
    );
    expect(shellWord("")).toBe("''");
  });

  it("asks about a tunnel by its name", () => {
    expect(targetOf("mail.example:443")).toBe("mail.example");
    expect(targetOf("[2001:db8::1]:443")).toBe("2001:db8::1");
    expect(targetOf("https://mail.example:443/")).toBe("https://mail.example:443/");
    expect(targetOf("mail.example")).toBe("mail.example");
    expect(targetOf("")).toBe(".");
  });
});

describe("a source", () => {
  it("is told in words, also one that is not known yet", () => {
    expect(sourceText("cache")).toBe("the cache");
    expect(sourceText("well")).toBe("well");
  });
});
