import type { Connect } from "vite";

/** Answers what the admin door answers, from made-up data; everything else goes on to `next`. */
export const mock: Connect.NextHandleFunction;
