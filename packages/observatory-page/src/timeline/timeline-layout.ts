import type { MessageBrief, PodTimeline, WorkSpan } from '@kubus/observatory-api';
import type { TimeView } from './time-view.ts';

/** One service's band. Lengths are pixels. */
export interface Lane {
  readonly service: string;
  readonly top: number;
  readonly height: number;
  /** Where its messages lie. */
  readonly middle: number;
}

export interface Mark {
  readonly message: MessageBrief;
  readonly lane: number;
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
  readonly lanes: readonly Lane[];
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

/** Where everything of a pod lies: a lane per service, messages at its top, below them its work, side by side where it overlaps. */
export function layoutTimeline({ messages, spans, services }: PodTimeline): TimelineLayout {
  const ordered = messages.toSorted((a, b) => a.at - b.at);
  const zero = ordered[0]?.at ?? 0;
  const rowsOf = new Map(
    services.map((service) => [service, packSpans(spans.filter((one) => one.service === service))]),
  );
  const lanes: Lane[] = [];
  let top = axisHeight;
  for (const service of services) {
    const rows = Math.max(0, ...(rowsOf.get(service) ?? []).map(({ row }) => row + 1));
    const height = marksHeight + rows * (spanHeight + 2) + (rows > 0 ? 4 : 0);
    lanes.push({ service, top, height, middle: top + marksHeight / 2 });
    top += height;
  }
  const laneOf = new Map(services.map((service, index) => [service, index]));
  const markOf = new Map<string, number>();
  ordered.forEach(({ id }, index) => {
    if (!markOf.has(id)) markOf.set(id, index);
  });
  const marks = ordered.map((message): Mark => ({
    message,
    lane: laneOf.get(message.service) ?? 0,
    at: message.at - zero,
    causes: message.causes.flatMap((id) => markOf.get(id) ?? []),
  }));
  const bars = lanes.flatMap((lane) =>
    (rowsOf.get(lane.service) ?? []).map(({ span, row }): SpanBar => ({
      span,
      top: lane.top + marksHeight + row * (spanHeight + 2),
      from: span.from - zero,
      to: span.to - zero,
    })),
  );
  const end = Math.max(1, ...marks.map(({ at }) => at), ...bars.map(({ to }) => to));
  const begin = Math.min(0, ...bars.map(({ from }) => from));
  const margin = (end - begin) * 0.02;
  return { lanes, marks, markOf, spans: bars, whole: { from: begin - margin, to: end + margin }, height: top };
}

/** Puts each span into the first row in which nothing else is going on. */
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
  { marks, lanes }: TimelineLayout,
  place: { readonly x: number; readonly y: number },
  xOf: (at: number) => number,
): number | undefined {
  const reach = 9;
  let best: number | undefined;
  let bestDistance = reach;
  marks.forEach(({ at, lane }, index) => {
    const distance = Math.hypot(xOf(at) - place.x, (lanes[lane]?.middle ?? 0) - place.y);
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

/** Where an arrow key leads from a mark: before and after in time; above and below to the next lane's nearest mark. */
export function markAfterKey(
  { marks, lanes }: TimelineLayout,
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
      for (let lane = (here?.lane ?? 0) + step; lane >= 0 && lane < lanes.length; lane += step) {
        const near = nearestIn(marks, lane, here?.at ?? 0);
        if (near !== undefined) return near;
      }
      return from;
    }
    default:
      return undefined;
  }
}

function nearestIn(marks: readonly Mark[], lane: number, at: number): number | undefined {
  let best: number | undefined;
  marks.forEach((mark, index) => {
    if (mark.lane !== lane) return;
    if (best === undefined || Math.abs(mark.at - at) < Math.abs((marks[best]?.at ?? 0) - at)) best = index;
  });
  return best;
}
