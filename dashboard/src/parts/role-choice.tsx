import type { Signal } from "@preact/signals";
import { t } from "../i18n";
import { roleMay, roleName, ROLES, type Role } from "../roles";

/** What a user may, each role with what it is good for. */
export function RoleChoice({ value, name }: { value: Signal<Role>; name: string }) {
  return (
    <fieldset class="roles">
      <legend class="field-name">{t("roles.legend")}</legend>
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
            {roleName(role)} <span class="quiet">{roleMay(role)}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
