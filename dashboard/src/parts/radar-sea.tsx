/** A calm sea with nothing on it, as a radar would draw it. */
export function RadarSea() {
  return (
    <svg class="radar-sea" viewBox="0 0 200 112" aria-hidden="true" focusable="false">
      <path class="radar-ring" d="M10 100a90 90 0 0 1 180 0M40 100a60 60 0 0 1 120 0M70 100a30 30 0 0 1 60 0" />
      <path class="radar-line" d="M4 100h192M100 100V8M100 100 36 36M100 100l64-64" />
      <path class="radar-sweep" d="M100 100V10A90 90 0 0 1 163.6 36.4Z" />
      <circle class="radar-here" cx="100" cy="100" r="4" />
    </svg>
  );
}
