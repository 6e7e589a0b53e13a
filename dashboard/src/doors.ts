// The doors, in the order in which they are always listed, with their names for people.

export const DOOR_WORDS = {
  dns: { name: "DNS", does: "answers names" },
  pixel: { name: "Pixel", does: "stands in for blocked hosts" },
  proxy: { name: "Proxy", does: "fetches for browsers" },
  web: { name: "Web", does: "serves files" },
  gateway: { name: "Gateway", does: "guards your servers" },
} as const;

export type Door = keyof typeof DOOR_WORDS;

export const DOORS = Object.keys(DOOR_WORDS) as Door[];
