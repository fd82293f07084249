/** The visible section of a timeline, in milliseconds since its first message. */
export interface TimeView {
  readonly from: number;
  readonly to: number;
}

/** No section is shorter: messages carry microseconds. */
const shortest = 0.05;

/** Zooms in (factor below 1) or out, so that `at` stays in place. */
export function zoomed(view: TimeView, whole: TimeView, at: number, factor: number): TimeView {
  const length = Math.max(shortest, Math.min(whole.to - whole.from, (view.to - view.from) * factor));
  const share = view.to > view.from ? (at - view.from) / (view.to - view.from) : 0.5;
  return within({ from: at - share * length, to: at + (1 - share) * length }, whole);
}

export function moved(view: TimeView, whole: TimeView, by: number): TimeView {
  return within({ from: view.from + by, to: view.to + by }, whole);
}

/** The section with a margin on both sides. */
export function around(from: number, to: number, whole: TimeView): TimeView {
  const margin = Math.max(shortest, (to - from) * 0.04);
  return within({ from: from - margin, to: to + margin }, whole);
}

/** Moves a section so that a time is visible. */
export function showing(view: TimeView, whole: TimeView, at: number): TimeView {
  if (at >= view.from && at <= view.to) return view;
  return moved(view, whole, at - (view.from + view.to) / 2);
}

function within(view: TimeView, whole: TimeView): TimeView {
  const length = Math.min(view.to - view.from, whole.to - whole.from);
  const from = Math.max(whole.from, Math.min(view.from, whole.to - length));
  return { from, to: from + length };
}
