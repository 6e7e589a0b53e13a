import type { ComponentChildren } from "preact";

/** One number of a row of them, with what it is and what stands beside it. */
export function Figure(props: { name: string; value: string; children?: ComponentChildren; tone?: string }) {
  return (
    <div class={`figure ${props.tone ?? ""}`}>
      <dt>{props.name}</dt>
      <dd>
        <span class="figure-value">{props.value}</span>
        {props.children && <span class="figure-sub">{props.children}</span>}
      </dd>
    </div>
  );
}
