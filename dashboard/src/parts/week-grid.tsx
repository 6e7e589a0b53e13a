// The week as a grid of days and hours, with every schedule painted where it holds, and said
// below. New hours can be drawn on it; who does not draw has the fields beside it.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Group, Profile, Schedule } from "../client-model";
import { printable } from "../format";
import { t } from "../i18n";
import {
  DAY_MINUTES,
  dayNames,
  drawnHours,
  isOffline,
  hoursWords,
  lanesOf,
  spansOf,
  whatWords,
  type Cell,
  type Hours,
} from "../week";

const ROW = 28;
const GAP = 3;
const HOUR_LABELS = [0, 3, 6, 9, 12, 15, 18, 21];

/** A schedule, and the group that it comes from if it is not the profile's own. */
export interface Painted {
  schedule: Schedule;
  group: string | null;
}

/** All that holds for a profile at some hours, its own first. */
export function entriesFor(profile: Pick<Profile, "schedule" | "groups">, groups: readonly Group[]): Painted[] {
  const own = profile.schedule.map((schedule) => ({ schedule, group: null }));
  const theirs = groups
    .filter((group) => profile.groups.includes(group.name))
    .flatMap((group) => group.schedule.map((schedule) => ({ schedule, group: group.name })));
  return [...own, ...theirs];
}

export function toneOf(schedule: Schedule): string {
  return isOffline(schedule) ? "span-everything" : "span-some";
}

interface WeekGridProps {
  painted: Painted[];
  /** Where the hours are read, if that is told. */
  zone?: string | undefined;
  /** Takes hours that were drawn. */
  onDraw?: (hours: Hours) => void;
}

export function WeekGrid({ painted, zone, onDraw }: WeekGridProps) {
  const said = painted.map(({ schedule }) => `${whatWords(schedule)}: ${hoursWords(schedule)}`);
  // Its own are said by the fields, where there are some.
  const listed = onDraw ? painted.filter(({ group }) => group !== null) : painted;
  return (
    <figure class="week">
      <div class="week-box">
        <ol class="week-days" aria-hidden="true">
          {dayNames().map((day) => (
            <li key={day}>{day}</li>
          ))}
        </ol>
        <Plot painted={painted} label={said.length > 0 ? t("week.label", { said: said.join(". ") }) : t("week.labelNone")} onDraw={onDraw} />
        <div class="week-hours" aria-hidden="true">
          {HOUR_LABELS.map((hour) => (
            <span key={hour}>{String(hour).padStart(2, "0")}</span>
          ))}
        </div>
      </div>
      <figcaption class="week-said">
        {listed.length > 0 && (
          <ul>
            {listed.map(({ schedule, group }, n) => (
              // oxlint-disable-next-line react/no-array-index-key -- two may say the same
              <li key={n} class={`week-entry ${toneOf(schedule)}${group === null ? "" : " span-group"}`}>
                <b>{whatWords(schedule)}</b> {hoursWords(schedule)}
                {group !== null && <span class="quiet">{t("week.fromGroup", { name: printable(group) })}</span>}
              </li>
            ))}
          </ul>
        )}
        {(painted.length > 0 || onDraw) && (
          <p class="panel-note">
            {onDraw && `${t("week.draw")} `}
            {zone === undefined ? t("week.zoneOfConfig") : t("week.zone", { zone: printable(zone) })}
          </p>
        )}
      </figcaption>
    </figure>
  );
}

/** The cell under the pointer; outside of the grid the nearest. */
function cellAt(box: DOMRect, event: PointerEvent): Cell {
  const within = (share: number, count: number): number => Math.min(count - 1, Math.max(0, Math.floor(share * count)));
  return {
    day: within((event.clientY - box.top) / box.height, 7),
    hour: within((event.clientX - box.left) / box.width, 24),
  };
}

interface Drawing {
  from: Cell;
  to: Cell;
}

function Plot({ painted, label, onDraw }: { painted: Painted[]; label: string; onDraw?: ((hours: Hours) => void) | undefined }) {
  const plot = useRef<SVGSVGElement>(null);
  const drawing = useSignal<Drawing | null>(null);
  const { lanes, count } = lanesOf(painted.map(({ schedule }) => schedule));
  const lane = (ROW - 2 * GAP) / count;

  const cell = (event: PointerEvent): Cell | null => {
    const box = plot.current?.getBoundingClientRect();
    return box ? cellAt(box, event) : null;
  };
  const start = (event: PointerEvent): void => {
    const at = onDraw && event.button === 0 ? cell(event) : null;
    if (!at) return;
    plot.current?.setPointerCapture(event.pointerId);
    drawing.value = { from: at, to: at };
  };
  const goOn = (event: PointerEvent): void => {
    const at = drawing.value && cell(event);
    if (drawing.value && at) drawing.value = { ...drawing.value, to: at };
  };
  const end = (event: PointerEvent): void => {
    const drawn = drawing.value;
    drawing.value = null;
    if (!drawn) return;
    // A finger that only taps may have meant to scroll.
    const isTap = drawn.from.day === drawn.to.day && drawn.from.hour === drawn.to.hour;
    if (isTap && event.pointerType === "touch") return;
    onDraw?.(drawnHours(drawn.from, drawn.to));
  };
  return (
    <svg
      ref={plot}
      class={onDraw ? "week-plot week-drawn" : "week-plot"}
      viewBox={`0 0 ${DAY_MINUTES} ${7 * ROW}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      onPointerDown={start}
      onPointerMove={goOn}
      onPointerUp={end}
      onPointerCancel={() => {
        drawing.value = null;
      }}
    >
      <Lines />
      {painted.map(({ schedule, group }, n) =>
        spansOf(schedule).map(({ day, from, to }) => (
          <rect
            // oxlint-disable-next-line react/no-array-index-key -- two may hold at the same hours
            key={`${n} ${day} ${from}`}
            class={`span ${toneOf(schedule)}${group === null ? "" : " span-group"}`}
            x={from}
            y={day * ROW + GAP + (lanes[n] ?? 0) * lane}
            width={to - from}
            height={Math.max(1, lane - 1)}
          />
        )),
      )}
      {drawing.value && <Selection drawing={drawing.value} />}
    </svg>
  );
}

function Lines() {
  const hours = Array.from({ length: 23 }, (_, n) => n + 1);
  return (
    <>
      {hours.map((hour) => (
        <path key={hour} class={hour % 6 === 0 ? "week-line week-line-strong" : "week-line"} d={`M${hour * 60} 0v${7 * ROW}`} />
      ))}
      {dayNames().slice(1).map((day, n) => (
        <path key={day} class="week-line week-line-strong" d={`M0 ${(n + 1) * ROW}h${DAY_MINUTES}`} />
      ))}
    </>
  );
}

function Selection({ drawing: { from, to } }: { drawing: Drawing }) {
  const [day, hour] = [Math.min(from.day, to.day), Math.min(from.hour, to.hour)];
  return (
    <rect
      class="week-selection"
      x={hour * 60}
      y={day * ROW}
      width={(Math.abs(from.hour - to.hour) + 1) * 60}
      height={(Math.abs(from.day - to.day) + 1) * ROW}
    />
  );
}
