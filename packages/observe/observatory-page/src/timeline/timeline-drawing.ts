import type { CriticalPath } from '@kubus/contracts/observatory';
import { scaleLinear } from 'd3-scale';
import type { Palette, Size } from '../theme/canvas.ts';
import { kindPath } from '../theme/kind-shape.ts';
import { type Mark, type TimelineLayout, axisHeight, spanHeight } from './timeline-layout.ts';
import type { TimeView } from './time-view.ts';

/** Width of the column with the names of the lanes. */
export const gutter = 124;
const rightMargin = 14;

export interface Scene {
  readonly layout: TimelineLayout;
  readonly view: TimeView;
  readonly path: CriticalPath | undefined;
  /** The marks selected by pointer or keyboard, and the one in the inspector. */
  readonly focus: number | undefined;
  readonly selected: number | undefined;
}

type Scale = (at: number) => number;

export function timeScale(view: TimeView, width: number): ReturnType<typeof scaleLinear<number, number>> {
  return scaleLinear([view.from, view.to], [gutter, Math.max(gutter + 1, width - rightMargin)]);
}

/** Draws a pod: swimlanes, axis, work, arrows, the critical path, messages. */
export function drawTimeline(context: CanvasRenderingContext2D, size: Size, scene: Scene, palette: Palette): void {
  const { layout, view } = scene;
  const x = timeScale(view, size.width);
  context.font = palette.font;
  context.textBaseline = 'middle';
  drawSwimlanes(context, size, layout, palette);
  drawAxis(context, size, x, palette);
  context.save();
  context.beginPath();
  context.rect(gutter, 0, size.width - gutter, size.height);
  context.clip();
  drawSpans(context, layout, x, palette);
  drawArrows(context, scene, x, palette);
  drawPath(context, scene, x, palette);
  drawMarks(context, scene, x, size.width, palette);
  context.restore();
}

function drawSwimlanes(
  context: CanvasRenderingContext2D,
  { width }: Size,
  { swimlanes }: TimelineLayout,
  palette: Palette,
): void {
  swimlanes.forEach(({ service, top, height, middle }, index) => {
    if (index % 2 === 0) {
      context.fillStyle = palette.stripe;
      context.fillRect(0, top, width, height);
    }
    context.fillStyle = palette.service(service);
    context.fillRect(8, middle - 4, 8, 8);
    context.fillStyle = palette.text;
    context.textAlign = 'left';
    context.fillText(service, 22, middle);
    context.fillStyle = palette.faint;
    context.fillRect(gutter, Math.round(middle), width - gutter, 1);
  });
}

function drawAxis(
  context: CanvasRenderingContext2D,
  { width, height }: Size,
  x: ReturnType<typeof timeScale>,
  palette: Palette,
): void {
  const wanted = Math.max(2, Math.floor((width - gutter) / 90));
  const format = x.tickFormat(wanted);
  context.textAlign = 'center';
  for (const tick of x.ticks(wanted)) {
    context.fillStyle = palette.faint;
    context.fillRect(Math.round(x(tick)), axisHeight, 1, height - axisHeight);
    context.fillStyle = palette.dim;
    const at = Math.min(x(tick), width - rightMargin - 12);
    if (at > gutter + 12) context.fillText(format(tick), at, axisHeight / 2);
  }
  context.textAlign = 'left';
  context.fillStyle = palette.dim;
  context.fillText('ms since the first', 8, axisHeight / 2);
  context.fillStyle = palette.line;
  context.fillRect(0, axisHeight - 1, width, 1);
  context.fillRect(gutter, 0, 1, height);
}

function drawSpans(context: CanvasRenderingContext2D, { spans }: TimelineLayout, x: Scale, palette: Palette): void {
  for (const { span, top, from, to } of spans) {
    const left = x(from);
    const width = Math.max(2, x(to) - left);
    const color = span.failed === undefined ? palette.service(span.service) : palette.bad;
    context.globalAlpha = 0.28;
    context.fillStyle = color;
    context.fillRect(left, top, width, spanHeight);
    context.globalAlpha = 1;
    context.strokeStyle = color;
    context.lineWidth = 1;
    context.strokeRect(left + 0.5, top + 0.5, width - 1, spanHeight - 1);
    const label = span.failed === undefined ? span.name : `✕ ${span.name}`;
    const begin = Math.max(left, gutter);
    if (left + width - begin < context.measureText(label).width + 8) continue;
    context.fillStyle = palette.text;
    context.textAlign = 'left';
    context.fillText(label, begin + 4, top + spanHeight / 2 + 0.5);
  }
}

function drawArrows(
  context: CanvasRenderingContext2D,
  { layout, focus, selected }: Scene,
  x: Scale,
  palette: Palette,
): void {
  layout.marks.forEach((effect, index) => {
    effect.causes.forEach((cause, order) => {
      const from = layout.marks[cause];
      if (from === undefined) return;
      const touched = [focus, selected].some((one) => one === index || one === cause);
      context.globalAlpha = touched ? 1 : order === 0 ? 0.5 : 0.25;
      context.strokeStyle = touched ? palette.text : palette.dim;
      context.lineWidth = touched ? 1.4 : 0.8;
      context.setLineDash(order === 0 ? [] : [3, 3]);
      curve(context, layout, from, effect, x);
      if (touched) arrowHead(context, layout, effect, x, palette.text);
    });
  });
  context.setLineDash([]);
  context.globalAlpha = 1;
}

function drawPath(context: CanvasRenderingContext2D, { layout, path }: Scene, x: Scale, palette: Palette): void {
  if (path === undefined) return;
  context.strokeStyle = palette.path;
  context.globalAlpha = 0.85;
  context.lineWidth = 2.6;
  context.lineJoin = 'round';
  context.lineCap = 'round';
  for (const { cause, effect } of path.segments) {
    const from = layout.marks[layout.markOf.get(cause.id) ?? -1];
    const to = layout.marks[layout.markOf.get(effect.id) ?? -1];
    if (from !== undefined && to !== undefined) curve(context, layout, from, to, x);
  }
  context.lineCap = 'butt';
  context.globalAlpha = 1;
}

/** Leaves its cause and reaches its effect along the swimlanes. */
function curve(context: CanvasRenderingContext2D, { swimlanes }: TimelineLayout, from: Mark, to: Mark, x: Scale): void {
  const [x1, y1] = [x(from.at), swimlanes[from.swimlane]?.middle ?? 0];
  const [x2, y2] = [x(to.at), swimlanes[to.swimlane]?.middle ?? 0];
  const bend = Math.max(2, Math.min(40, (x2 - x1) / 2));
  context.beginPath();
  context.moveTo(x1, y1);
  if (y1 === y2) context.lineTo(x2, y2);
  else context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
  context.stroke();
}

function arrowHead(
  context: CanvasRenderingContext2D,
  { swimlanes }: TimelineLayout,
  to: Mark,
  x: Scale,
  color: string,
): void {
  const [tip, y] = [x(to.at) - 5, swimlanes[to.swimlane]?.middle ?? 0];
  context.fillStyle = color;
  context.beginPath();
  context.moveTo(tip, y);
  context.lineTo(tip - 6, y - 3.5);
  context.lineTo(tip - 6, y + 3.5);
  context.fill();
}

function drawMarks(
  context: CanvasRenderingContext2D,
  { layout, path, focus, selected }: Scene,
  x: Scale,
  width: number,
  palette: Palette,
): void {
  const onPath = new Set(path?.segments.flatMap(({ cause, effect }) => [cause.id, effect.id]));
  layout.marks.forEach(({ message, swimlane, at }, index) => {
    const place = x(at);
    if (place < gutter - 10 || place > width + 10) return;
    const y = layout.swimlanes[swimlane]?.middle ?? 0;
    const bold = onPath.has(message.id);
    if (index === focus || index === selected) {
      context.strokeStyle = index === selected ? palette.accent : palette.text;
      context.lineWidth = 2;
      context.beginPath();
      context.arc(place, y, 8.5, 0, 2 * Math.PI);
      context.stroke();
    }
    context.fillStyle = palette.service(message.service);
    context.strokeStyle = bold ? palette.path : palette.surface;
    context.lineWidth = bold ? 1.6 : 1;
    shape(context, kindPath(message.kind, place, y, bold ? 4.6 : 3.8), place, y, bold ? 4.8 : 4);
    context.fill();
    context.stroke();
  });
  drawLabels(context, layout, x, width, palette);
}

function shape(
  context: CanvasRenderingContext2D,
  path: ReturnType<typeof kindPath>,
  x: number,
  y: number,
  r: number,
): void {
  context.beginPath();
  if (path === 'disc') {
    context.arc(x, y, r, 0, 2 * Math.PI);
    return;
  }
  for (const [px, py] of path) context.lineTo(px, py);
  context.closePath();
}

/** Labels a mark if its lane has room for the label. */
function drawLabels(
  context: CanvasRenderingContext2D,
  layout: TimelineLayout,
  x: Scale,
  width: number,
  palette: Palette,
): void {
  context.textAlign = 'left';
  layout.swimlanes.forEach((swimlane, swimlaneIndex) => {
    const own = layout.marks.filter((mark) => mark.swimlane === swimlaneIndex);
    own.forEach(({ message, at }, index) => {
      const begin = x(at) + 9;
      const next = own[index + 1];
      const end = Math.min(width - 4, next === undefined ? Infinity : x(next.at) - 8);
      const label = labelOf(message.type, message.summary);
      const length = context.measureText(label).width;
      if (begin < gutter || begin + length > end) return;
      context.fillStyle = palette.surface;
      context.globalAlpha = 0.75;
      context.fillRect(begin - 2, swimlane.middle - 7, length + 4, 14);
      context.globalAlpha = 1;
      context.fillStyle = palette.dim;
      context.fillText(label, begin, swimlane.middle);
    });
  });
}

/** `status: Running`: the name of the type and the summary of the message. */
function labelOf(type: string, summary: string): string {
  const name =
    type
      .replace(/\/\d+$/, '')
      .split('.')
      .at(-1) ?? type;
  const text = summary === name || summary === '' ? name : `${name}: ${summary}`;
  return text.length > 48 ? `${text.slice(0, 47)}…` : text;
}
