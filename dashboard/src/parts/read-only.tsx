// A quiet line that says why nothing can be changed here.

import { t } from "../i18n";
import { roleWithin, type Role } from "../roles";
import { may, me } from "../state";

/** Shown to who may not; `can` is what one with the role can do. */
export function ReadOnly({ needs, can }: { needs: Role; can: string }) {
  if (!me.value || may(needs)) return null;
  return (
    <p class="read-only quiet">
      {t("roles.lookOn", { role: roleWithin(me.value.role), one: t(`roles.${needs}.one`), can })}
    </p>
  );
}

