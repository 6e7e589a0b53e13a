// The roles, each with all that the one before may.

export const ROLES = ["viewer", "operator", "administrator"] as const;
export type Role = (typeof ROLES)[number];

export const ROLE_TEXT: Record<Role, { name: string; may: string }> = {
  viewer: { name: "Viewer", may: "looks at everything, changes nothing" },
  operator: { name: "Operator", may: "pauses, allows and blocks, keeps lists and profiles" },
  administrator: { name: "Administrator", may: "changes settings, and says who may what" },
};

/** True if `role` may what `needed` may. */
export function covers(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** The roles that `role` may give away: those up to its own. */
export function rolesUpTo(role: Role): Role[] {
  return ROLES.filter((one) => covers(role, one));
}
