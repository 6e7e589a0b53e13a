import { micros } from "../format";

/** How long somebody who is asked takes to answer. */
export function Pace({ us }: { us: number }) {
  return (
    <span class="entry-figure">
      <span class="quiet">answers in</span> {micros(us)}
    </span>
  );
}
