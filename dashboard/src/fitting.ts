/** How many of these widths fit, with room kept for the button where not all do. */
export function fitting(widths: readonly number[], room: number, more: number, gap: number): number {
  let used = 0;
  let fits = 0;
  for (const [n, width] of widths.entries()) {
    used += width + (n > 0 ? gap : 0);
    const rest = n < widths.length - 1 ? gap + more : 0;
    if (used + rest <= room) fits = n + 1;
  }
  return used <= room ? widths.length : fits;
}
