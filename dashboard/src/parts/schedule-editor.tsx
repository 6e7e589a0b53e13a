// The schedules of a profile or a group: painted on the week, and each with its days, its hours
// and what holds then. Hours that are drawn on the week become a schedule.

import { useRef } from "preact/hooks";
import type { ListChoice } from "../client-model";
import { freshKey, ofKind, type ScheduleDraft, type ScheduleKind } from "../drafts";
import { printable } from "../format";
import { t } from "../i18n";
import { dayNames, daysOf, daysText, hoursWords, minutesOf, timeText, type Hours } from "../week";
import { Checks } from "./checks";
import { Choice } from "./choice";
import { Icon } from "./icons";
import { Panel } from "./panel";
import { toneOf, WeekGrid, type Painted } from "./week-grid";

const KINDS: readonly ScheduleKind[] = ["everything", "rule", "lists"];

/** What is meant most often: no internet at night. */
const NIGHT: Hours = { days: "", from: "21:00", to: "07:00" };

interface ScheduleEditorProps {
  schedule: ScheduleDraft[];
  lists: ListChoice[];
  /** What holds besides, because of groups. */
  besides: Painted[];
  zone: string | undefined;
  onChange: (schedule: ScheduleDraft[]) => void;
}

export function ScheduleEditor({ schedule, lists, besides, zone, onChange }: ScheduleEditorProps) {
  const fields = useRef<HTMLDivElement>(null);
  const add = (hours: Hours): void => {
    onChange([...schedule, { ...hours, block: "", lists: [], otherwise: "block", kind: "everything", key: freshKey(schedule) }]);
    // Once it is there, who added it says what it is.
    requestAnimationFrame(() => fields.current?.querySelector<HTMLElement>("fieldset:last-of-type > .choice input:checked")?.focus());
  };
  const painted = [...schedule.map((entry) => ({ schedule: entry, group: null })), ...besides];
  return (
    <Panel
      id="schedule-title"
      title={t("schedule.title")}
      aside={
        <button type="button" class="button" onClick={() => add(NIGHT)}>
          <Icon name="plus" />
          {t("schedule.add")}
        </button>
      }
    >
      <WeekGrid painted={painted} zone={zone} onDraw={add} />
      <div class="schedules" ref={fields}>
        {schedule.map((entry) => (
          <Entry
            key={entry.key}
            entry={entry}
            lists={lists}
            onChange={(changed) => onChange(schedule.map((one) => (one.key === changed.key ? changed : one)))}
            onRemove={() => onChange(schedule.filter((one) => one.key !== entry.key))}
          />
        ))}
      </div>
    </Panel>
  );
}

interface EntryProps {
  entry: ScheduleDraft;
  lists: ListChoice[];
  onChange: (entry: ScheduleDraft) => void;
  onRemove: () => void;
}

function Entry({ entry, lists, onChange, onRemove }: EntryProps) {
  const change = (part: Partial<ScheduleDraft>): void => onChange({ ...entry, ...part });
  return (
    <fieldset class="schedule">
      <legend class={`schedule-name week-entry ${toneOf(entry)}`}>{hoursWords(entry)}</legend>
      <Choice
        label={t("schedule.then")}
        name={`schedule-kind-${entry.key}`}
        options={KINDS.map((value) => ({ value, text: t(`schedule.kinds.${value}`) }))}
        value={entry.kind}
        onChoose={(kind) => onChange(ofKind(entry, kind))}
      />
      {entry.kind === "rule" && (
        <label class="field">
          <span class="field-name">{t("schedule.rule")}</span>
          <input
            class="input input-mono"
            type="text"
            required
            placeholder="||video.example^"
            autocapitalize="none"
            autocomplete="off"
            spellcheck={false}
            value={entry.block}
            onInput={(event) => change({ block: event.currentTarget.value })}
          />
        </label>
      )}
      {entry.kind === "lists" && <ListChecks legend={t("schedule.kinds.lists")} lists={lists} chosen={entry.lists} onChange={(chosen) => change({ lists: chosen })} />}
      <Days days={entry.days} onChange={(days) => change({ days })} />
      <div class="schedule-times">
        <Time name={t("schedule.from")} value={entry.from} onChange={(from) => change({ from })} />
        <Time name={t("schedule.to")} value={entry.to} onChange={(to) => change({ to })} />
        <button type="button" class="button button-bare" aria-label={t("schedule.remove", { hours: hoursWords(entry) })} onClick={onRemove}>
          {t("words.remove")}
        </button>
      </div>
    </fieldset>
  );
}

function Days({ days, onChange }: { days: string; onChange: (days: string) => void }) {
  const chosen = daysOf(days) ?? dayNames().map(() => true);
  const isLast = chosen.filter(Boolean).length === 1;
  return (
    <fieldset class="choice days">
      <legend class="unseen">{t("schedule.days")}</legend>
      {dayNames().map((name, day) => (
        <label key={name} class="choice-option" title={isLast && chosen[day] ? t("schedule.oneDay") : undefined}>
          <input
            type="checkbox"
            checked={chosen[day] ?? false}
            disabled={isLast && chosen[day]}
            onChange={(event) => {
              const { checked } = event.currentTarget;
              onChange(daysText(chosen.map((is, at) => (at === day ? checked : is))));
            }}
          />
          <span>{name}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A time of day; none and 24:00 are midnight. */
function Time({ name, value, onChange }: { name: string; value: string; onChange: (value: string) => void }) {
  return (
    <label class="field">
      <span class="field-name">{name}</span>
      <input
        class="input"
        type="time"
        required
        value={timeText(minutesOf(value) ?? 0)}
        onInput={(event) => {
          if (event.currentTarget.value !== "") onChange(event.currentTarget.value);
        }}
      />
    </label>
  );
}

interface ListChecksProps {
  legend: string;
  lists: ListChoice[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}

/** Lists to choose from; those that are chosen and gone stay to be seen. */
export function ListChecks({ legend, lists, chosen, onChange }: ListChecksProps) {
  const gone = chosen.filter((name) => !lists.some((list) => list.name === name));
  const note = (list: ListChoice): string =>
    [list.kind === "allow" ? t("schedule.allows") : "", list.off ? t("schedule.isOff") : ""].filter((it) => it !== "").join(", ");
  return (
    <Checks
      legend={legend}
      options={[
        ...lists.map((list) => ({ value: list.name, text: printable(list.name), note: note(list) })),
        ...gone.map((name) => ({ value: name, text: printable(name), note: t("schedule.isGone") })),
      ]}
      chosen={chosen}
      onChange={onChange}
    />
  );
}
