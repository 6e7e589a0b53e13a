// The frame of one part of the overview: its title, what stands beside that, and its content.

import type { ComponentChildren } from "preact";

import { t } from "../i18n";

export function Panel(props: {
  id: string;
  title: ComponentChildren;
  aside?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="panel" aria-labelledby={props.id}>
      <div class="panel-head">
        <h2 class="panel-title" id={props.id}>
          {props.title}
        </h2>
        {props.aside}
      </div>
      {props.children}
    </section>
  );
}

/** How many more there are than those that are shown, where there are any. */
export function More({ more }: { more: number }) {
  return more > 0 ? <p class="panel-note">{t("words.andMore", { count: more })}</p> : null;
}
