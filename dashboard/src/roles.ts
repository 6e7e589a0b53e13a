// The roles, each with all that the one before may.

import { t } from "./i18n";

export const ROLES = ["viewer", "operator", "administrator"] as const;
export type Role = (typeof ROLES)[number];

export const roleName = (role: Role): string => t(`roles.${role}.name`);

/** The name as it stands within a sentence. */
export const roleWithin = (role: Role): string => t(`roles.${role}.within`);

/** What one with the role may. */
export const roleMay = (role: Role): string => t(`roles.${role}.may`);

/** True if `role` may what `needed` may. */
export function covers(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** The roles that `role` may give away: those up to its own. */
export function rolesUpTo(role: Role): Role[] {
  return ROLES.filter((one) => covers(role, one));
}
