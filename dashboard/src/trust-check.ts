// Whether this browser trusts the certificate authority: an image over HTTPS loads, or does not.

/** An image that has not come by then does not come. */
const TIMEOUT_MS = 8_000;

/** `reload` where this page was loaded before the address was what it is, and so may not ask there. */
export type TrustOutcome = "trusts" | "not" | "reload";

/** The address with something that no cache has seen. */
export function freshAddress(url: string, now: number): string {
  return `${url}${url.includes("?") ? "&" : "?"}t=${now}`;
}

/** What comes of loading the image of an address. */
export function imageLoads(url: string): Promise<TrustOutcome> {
  return new Promise((told) => {
    const image = new Image();
    const refuse = (event: SecurityPolicyViolationEvent): void => {
      if (url.startsWith(event.blockedURI) || event.blockedURI.startsWith(url)) done("reload");
    };
    const timer = setTimeout(() => done("not"), TIMEOUT_MS);
    const done = (outcome: TrustOutcome): void => {
      clearTimeout(timer);
      document.removeEventListener("securitypolicyviolation", refuse);
      told(outcome);
    };
    document.addEventListener("securitypolicyviolation", refuse);
    image.addEventListener("load", () => done("trusts"), { once: true });
    // What the page's own policy refuses fails as well: the word about that comes a moment later.
    image.addEventListener("error", () => setTimeout(() => done("not"), 50), { once: true });
    image.src = freshAddress(url, Date.now());
  });
}
