// A quiet line that says why nothing can be changed here.

import { ROLE_TEXT, type Role } from "../roles";
import { may, me } from "../state";

/** Shown to who may not; `can` is what one with the role can do. */
export function ReadOnly({ needs, can }: { needs: Role; can: string }) {
  if (!me.value || may(needs)) return null;
  return (
    <p class="read-only quiet">
      You are signed in as {ROLE_TEXT[me.value.role].name.toLowerCase()}, and look on: {article(needs)} can {can}.
    </p>
  );
}

function article(role: Role): string {
  const name = ROLE_TEXT[role].name.toLowerCase();
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}
