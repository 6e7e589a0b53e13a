// What a view shows, as a file: for a spreadsheet, or a line of JSON each for a program.

import { t } from "../i18n";
import { Icon } from "./icons";

const FORMATS = [
  { format: "csv", name: "CSV" },
  { format: "jsonl", name: "JSON" },
] as const;

interface ExportLinksProps {
  /** What is saved, as "these requests" or "lists". */
  what: string;
  /** A bound to know of. */
  note?: string;
  href: (format: "csv" | "jsonl") => string;
}

export function ExportLinks({ what, note, href }: ExportLinksProps) {
  return (
    <span class="exports">
      {FORMATS.map(({ format, name }) => {
        const label = t(`export.${format}`, { what });
        return (
          <a key={format} class="button button-bare" href={href(format)} download aria-label={label} title={note ? `${label}, ${note}` : label}>
            <Icon name="download" />
            {name}
          </a>
        );
      })}
    </span>
  );
}
