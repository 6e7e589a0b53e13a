import type { ComponentChildren } from "preact";
import type { Fault } from "../api";
import { Icon, type IconName } from "./icons";

/** Text with `code` in backquotes, as the API and this page write it. */
export function Marked({ text }: { text: string }) {
  return (
    <>
      {text.split("`").map((piece, n) =>
        // oxlint-disable-next-line react/no-array-index-key -- the pieces never change places
        n % 2 === 1 ? <code key={n}>{piece}</code> : piece,
      )}
    </>
  );
}

interface NoticeProps {
  tone: "fault" | "land" | "good";
  fault?: Fault;
  children?: ComponentChildren;
}

const ICONS: Record<NoticeProps["tone"], IconName> = { fault: "caution", land: "caution", good: "done" };

/** Something that the reader should know; a fault says its remedy. */
export function Notice({ tone, fault, children }: NoticeProps) {
  return (
    <div class={`notice notice-${tone}`} role={tone === "fault" ? "alert" : "status"}>
      <Icon name={ICONS[tone]} />
      <div>
        {fault && (
          <p>
            <strong>
              <Marked text={fault.message} />
            </strong>{" "}
            <Marked text={fault.remedy} />
          </p>
        )}
        {fault && fault.complaints.length > 0 && (
          <ul class="complaints">
            {fault.complaints.map((complaint) => (
              <li key={complaint}>{complaint}</li>
            ))}
          </ul>
        )}
        {children}
      </div>
    </div>
  );
}

/** What to say where there is nothing yet, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <svg class="empty-water" viewBox="0 0 120 24" aria-hidden="true" focusable="false">
        <path d="M2 9c5-5 10-5 15 0s10 5 15 0 10-5 15 0 10 5 15 0 10-5 15 0 10 5 15 0 10-5 15 0M17 18c5-5 10-5 15 0s10 5 15 0 10-5 15 0 10 5 15 0 10-5 15 0" />
      </svg>
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
    </div>
  );
}
