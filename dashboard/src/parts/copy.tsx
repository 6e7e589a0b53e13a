import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { t } from "../i18n";
import { Icon } from "./icons";

/** The clipboard of the browser, or the old way: over plain http from another machine there is none. */
async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    box.className = "unseen";
    (document.querySelector("dialog[open]") ?? document.body).append(box);
    box.select();
    const copied = document.execCommand("copy");
    box.remove();
    return copied;
  }
}

const SHOWN_MS = 1800;

/** A button that takes a text along. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const state = useSignal<"" | "copied" | "failed">("");
  const copy = async (): Promise<void> => {
    state.value = (await toClipboard(text)) ? "copied" : "failed";
    setTimeout(() => {
      state.value = "";
    }, SHOWN_MS);
  };
  return (
    <button type="button" class="button button-bare" onClick={() => void copy()} aria-label={t("copy.what", { what: label })}>
      <Icon name={state.value === "copied" ? "done" : "copy"} />
      <span aria-live="polite">{state.value === "copied" ? t("copy.copied") : state.value === "failed" ? t("copy.failed") : t("copy.copy")}</span>
    </button>
  );
}

interface CopyableProps {
  text: string;
  /** What is copied, where it is not written as it is shown. */
  copied?: string;
  label: string;
}

/** A piece of text to take along: an address, a command. */
export function Copyable({ text, copied = text, label }: CopyableProps) {
  return (
    <div class="copyable">
      <code class="copyable-text">
        {text.split(" ").map((word, n) => (
          // oxlint-disable-next-line react/no-array-index-key -- the words never change places
          <Fragment key={n}>
            {n > 0 && " "}
            {word.startsWith("-") ? <span class="unbroken">{word}</span> : word}
          </Fragment>
        ))}
      </code>
      <CopyButton text={copied} label={label} />
    </div>
  );
}
