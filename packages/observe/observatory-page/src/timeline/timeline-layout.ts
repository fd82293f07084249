import type { MessageBrief, PodTimeline, WorkSpan } from '@kubus/contracts/observatory';
import type { TimeView } from './time-view.ts';

/** One service's band. Lengths are pixels. */
interface Swimlane {
  readonly service: string;
  readonly top: number;
  readonly height: number;
  /** Vertical position of its messages. */
  readonly middle: number;
}

export interface Mark {
  readonly message: MessageBrief;
  readonly swimlane: number;
  /** Milliseconds since the first message. */
  readonly at: number;
  /** Marks that it depended on, the last awaited first. */
  readonly causes: readonly number[];
}

export interface SpanBar {
  readonly span: WorkSpan;
  readonly top: number;
  readonly from: number;
  readonly to: number;
}

export interface TimelineLayout {
  readonly swimlanes: readonly Swimlane[];
  /** In the order of time. */
  readonly marks: readonly Mark[];
  readonly markOf: ReadonlyMap<string, number>;
  readonly spans: readonly SpanBar[];
  readonly whole: TimeView;
  readonly height: number;
}

export const axisHeight = 24;
export const spanHeight = 11;
const marksHeight = 24;

/** The layout of a pod: a lane per service, messages at its top, below them its work, in several rows where it overlaps. */
export function layoutTimeline({ messages, spans, services }: PodTimeline): TimelineLayout {
  const ordered = messages.toSorted((a, b) => a.at - b.at);
  const zero = ordered[0]?.at ?? 0;
  const rowsOf = new Map(
    services.map((service) => [service, packSpans(spans.filter((one) => one.service === service))]),
  );
  const swimlanes: Swimlane[] = [];
  let top = axisHeight;
  for (const service of services) {
    const rows = Math.max(0, ...(rowsOf.get(service) ?? []).map(({ row }) => row + 1));
    const height = marksHeight + rows * (spanHeight + 2) + (rows > 0 ? 4 : 0);
    swimlanes.push({ service, top, height, middle: top + marksHeight / 2 });
    top += height;
  }
  const swimlaneOf = new Map(services.map((service, index) => [service, index]));
  const markOf = new Map<string, number>();
  ordered.forEach(({ id }, index) => {
    if (!markOf.has(id)) markOf.set(id, index);
  });
  const marks = ordered.map((message): Mark => ({
    message,
    swimlane: swimlaneOf.get(message.service) ?? 0,
    at: message.at - zero,
    causes: message.causes.flatMap((id) => markOf.get(id) ?? []),
  }));
  const bars = swimlanes.flatMap((swimlane) =>
    (rowsOf.get(swimlane.service) ?? []).map(({ span, row }): SpanBar => ({
      span,
      top: swimlane.top + marksHeight + row * (spanHeight + 2),
      from: span.from - zero,
      to: span.to - zero,
    })),
  );
  const end = Math.max(1, ...marks.map(({ at }) => at), ...bars.map(({ to }) => to));
  const begin = Math.min(0, ...bars.map(({ from }) => from));
  const margin = (end - begin) * 0.02;
  return { swimlanes, marks, markOf, spans: bars, whole: { from: begin - margin, to: end + margin }, height: top };
}

/** Puts each span into the first row without an overlap. */
export function packSpans(spans: readonly WorkSpan[]): { span: WorkSpan; row: number }[] {
  const ends: number[] = [];
  return spans
    .toSorted((a, b) => a.from - b.from)
    .map((span) => {
      const free = ends.findIndex((end) => end <= span.from);
      const row = free < 0 ? ends.length : free;
      ends[row] = span.to;
      return { span, row };
    });
}

/** The mark next to a place, if one is within reach. */
export function markAt(
  { marks, swimlanes }: TimelineLayout,
  place: { readonly x: number; readonly y: number },
  xOf: (at: number) => number,
): number | undefined {
  const reach = 9;
  let best: number | undefined;
  let bestDistance = reach;
  marks.forEach(({ at, swimlane }, index) => {
    const distance = Math.hypot(xOf(at) - place.x, (swimlanes[swimlane]?.middle ?? 0) - place.y);
    if (distance < bestDistance) {
      best = index;
      bestDistance = distance;
    }
  });
  return best;
}

export function spanAt(
  { spans }: TimelineLayout,
  place: { readonly x: number; readonly y: number },
  xOf: (at: number) => number,
): SpanBar | undefined {
  return spans.find(
    ({ top, from, to }) =>
      place.y >= top &&
      place.y <= top + spanHeight &&
      place.x >= xOf(from) &&
      place.x <= Math.max(xOf(to), xOf(from) + 3),
  );
}

/** The mark to which an arrow key moves: left and right in time; up and down to the nearest mark of the next lane. */
export function markAfterKey(
  { marks, swimlanes }: TimelineLayout,
  from: number | undefined,
  key: string,
): number | undefined {
  if (marks.length === 0) return undefined;
  if (from === undefined && (key.startsWith('Arrow') || key === 'Home')) return 0;
  if (from === undefined) return key === 'End' ? marks.length - 1 : undefined;
  const here = marks[from];
  switch (key) {
    case 'ArrowRight':
      return Math.min(marks.length - 1, from + 1);
    case 'ArrowLeft':
      return Math.max(0, from - 1);
    case 'Home':
      return 0;
    case 'End':
      return marks.length - 1;
    case 'c':
      return here?.causes[0];
    case 'ArrowUp':
    case 'ArrowDown': {
      const step = key === 'ArrowDown' ? 1 : -1;
      for (
        let swimlane = (here?.swimlane ?? 0) + step;
        swimlane >= 0 && swimlane < swimlanes.length;
        swimlane += step
      ) {
        const near = nearestIn(marks, swimlane, here?.at ?? 0);
        if (near !== undefined) return near;
      }
      return from;
    }
    default:
      return undefined;
  }
}

function nearestIn(marks: readonly Mark[], swimlane: number, at: number): number | undefined {
  let best: number | undefined;
  marks.forEach((mark, index) => {
    if (mark.swimlane !== swimlane) return;
    if (best === undefined || Math.abs(mark.at - at) < Math.abs((marks[best]?.at ?? 0) - at)) best = index;
  });
  return best;
}
