import type { Signal } from "@preact/signals";
import { ROLE_TEXT, ROLES, type Role } from "../roles";

/** What a user may, each role with what it is good for. */
export function RoleChoice({ value, name }: { value: Signal<Role>; name: string }) {
  return (
    <fieldset class="roles">
      <legend class="field-name">May</legend>
      {ROLES.map((role) => (
        <label key={role} class="check">
          <input
            type="radio"
            name={name}
            value={role}
            checked={value.value === role}
            onChange={() => {
              value.value = role;
            }}
          />
          <span>
            {ROLE_TEXT[role].name} <span class="quiet">{ROLE_TEXT[role].may}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
