// The few icons, drawn on a grid of 20 with the line of the mark. They say nothing to a screen
// reader: the text beside them does.

const PATHS = {
  overview: "M2.5 7.5c1.9-1.9 3.7-1.9 5.6 0s3.7 1.9 5.6 0 2.4-1.7 3.8-1.3M2.5 13.5c1.9-1.9 3.7-1.9 5.6 0s3.7 1.9 5.6 0 2.4-1.7 3.8-1.3",
  statistics: "M3 16.5h14M5.5 13.5v-3M10 13.5v-7M14.5 13.5V4",
  log: "M7 5h10M7 10h10M7 15h10M3 5h.01M3 10h.01M3 15h.01",
  clients: "M2.5 4h10v7.5h-10ZM5 15h5M15 7.5h2.5V16H13v-2",
  bypass: "M10 16.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM10 10l4.6-4.6M12.8 10a2.8 2.8 0 1 1-2.8-2.8",
  fleet: "M10 7.4a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM4.9 16.6a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM15.1 16.6a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM9 7.2l-3 5.7M11 7.2l3 5.7M6.9 14.6h6.2",
  why: "M7.2 7.4a2.9 2.9 0 1 1 4.3 2.5c-.9.5-1.5 1.1-1.5 2.1M10 15.2v.01",
  lists: "M4 4.5h12v11H4ZM7 8h6M7 11h4",
  cache: "M3.5 5.5c0-1.4 2.9-2.5 6.5-2.5s6.5 1.1 6.5 2.5S13.6 8 10 8 3.5 6.9 3.5 5.5ZM3.5 5.5v9c0 1.4 2.9 2.5 6.5 2.5s6.5-1.1 6.5-2.5v-9M3.5 10c0 1.4 2.9 2.5 6.5 2.5s6.5-1.1 6.5-2.5",
  configuration: "M3 6h7M14 6h3M12 4v4M3 14h3M10 14h7M8 12v4",
  setup: "M10 6.5v11M10 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM6.5 9.5h7M3 11.5c.3 3.6 3 6 7 6s6.7-2.4 7-6",
  pause: "M7 4.5v11M13 4.5v11",
  play: "M6.5 4.5v11l9-5.5Z",
  reload: "M16 8.5A6.3 6.3 0 0 0 4.4 7M4 3.5V7h3.5M4 11.5A6.3 6.3 0 0 0 15.6 13M16 16.5V13h-3.5",
  sun: "M10 13.3a3.3 3.3 0 1 0 0-6.6 3.3 3.3 0 0 0 0 6.6ZM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M15.7 4.3l-1.1 1.1M5.4 14.6l-1.1 1.1",
  moon: "M16.5 11.8A7 7 0 0 1 8.2 3.5a7 7 0 1 0 8.3 8.3Z",
  system: "M3 4.5h14v9H3ZM7.5 16.5h5",
  plus: "M10 4v12M4 10h12",
  up: "M10 16V4.5M5 9.5l5-5 5 5",
  back: "M12.5 4.5 7 10l5.5 5.5",
  offline: "M10 16.2v.01M7 12.6a4.4 4.4 0 0 1 6 0M4.2 9.6a8.6 8.6 0 0 1 11.6 0M3.5 3.5l13 13",
  close: "M5 5l10 10M15 5 5 15",
  copy: "M7.5 7.5h9v9h-9ZM12.5 7.5v-4h-9v9h4",
  done: "M4 10.5l4 4 8-9",
  download: "M10 3v9.5M6 9l4 4 4-4M4 16.5h12",
  search: "M8.7 14a5.3 5.3 0 1 0 0-10.6 5.3 5.3 0 0 0 0 10.6ZM12.6 12.6l4 4",
  caution: "M10 3 2.5 16.5h15ZM10 8.5v3.5M10 14.3v.01",
  more: "M4 10a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0M9.3 10a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0M14.6 10a.7.7 0 1 0 1.4 0 .7.7 0 1 0-1.4 0",
  person: "M10 9.5a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4ZM3.5 17c.4-3.4 2.9-5 6.5-5s6.1 1.6 6.5 5",
  people: "M7.5 9.3a2.9 2.9 0 1 0 0-5.8 2.9 2.9 0 0 0 0 5.8ZM2 16.5c.3-3.1 2.4-4.6 5.5-4.6s5.2 1.5 5.5 4.6M13 3.9a2.9 2.9 0 0 1 0 5M15.2 12.2c1.7.6 2.7 2 2.9 4.3",
  key: "M7 12.9a3.4 3.4 0 1 0 0-6.8 3.4 3.4 0 0 0 0 6.8ZM10.3 9.5h7.2V12M14.3 9.5v2.2",
  keyboard: "M2.5 5.5h15v9h-15ZM5.5 8.5h.01M8.5 8.5h.01M11.5 8.5h.01M14.5 8.5h.01M6.5 11.7h7",
  language: "M10 17.2a7.2 7.2 0 1 0 0-14.4 7.2 7.2 0 0 0 0 14.4ZM2.8 10h14.4M10 2.8c2.4 2 3.4 4.4 3.4 7.2s-1 5.2-3.4 7.2M10 2.8C7.6 4.8 6.6 7.2 6.6 10s1 5.2 3.4 7.2",
  leave: "M8.5 3.5h-5v13h5M8 10h9M13.5 6.5 17 10l-3.5 3.5",
  chevron: "M7.5 4.5 13 10l-5.5 5.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The gate that holds the sea back and lets the river out below. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true" focusable="false">
      <path
        class="mark-sea"
        d="M2.5 8.5c2-2 4-2 6 0s4 2 6 0M2.5 16c2-2 4-2 6 0s4 2 6 0M2.5 23.5c2-2 4-2 6 0s4 2 6 0s4-2 6 0s4 2 6 0"
      />
      <path class="mark-gate" d="M19 4.5v14" />
    </svg>
  );
}
