import type { CriticalPath, MessageBrief } from '@kubus/contracts/observatory';
import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { duration } from '../format/quantity.ts';
import { blank, readPalette, useSize } from '../theme/canvas.ts';
import { kindNames } from '../theme/kind-shape.ts';
import { useTheme } from '../theme/theme.ts';
import { TimelineTip, type Pointed } from './TimelineTip.tsx';
import { drawTimeline, gutter, timeScale } from './timeline-drawing.ts';
import { type TimelineLayout, markAfterKey, markAt, spanAt } from './timeline-layout.ts';
import { type TimeView, moved, showing, zoomed } from './time-view.ts';
import './timeline.css';

interface Props {
  readonly layout: TimelineLayout;
  readonly path: CriticalPath | undefined;
  readonly view: TimeView;
  readonly onView: (view: TimeView) => void;
  /** Sequence of the message in the inspector. */
  readonly selected: number | undefined;
  readonly onOpen: (message: MessageBrief) => void;
}

/** The swimlanes of a pod. Wheel with Ctrl or the keys + and - zoom, dragging moves, arrow keys go from message to message. */
export function TimelineCanvas({ layout, path, view, onView, selected, onOpen }: Props): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(frame);
  const theme = useTheme();
  const [focus, setFocus] = useState<number>();
  const [pointed, setPointed] = useState<Pointed>();
  const [drag, setDrag] = useState<{ readonly x: number; readonly view: TimeView; readonly far: boolean }>();
  const x = timeScale(view, width);
  const perPixel = (view.to - view.from) / Math.max(1, width - gutter);
  const chosen = layout.marks.findIndex(({ message }) => message.seq === selected);

  useEffect(() => {
    const size = { width, height: layout.height };
    const context = canvas.current === null || width === 0 ? undefined : blank(canvas.current, size);
    if (context === undefined) return;
    const marked = pointed?.mark ?? focus;
    const scene = { layout, view, path, focus: marked, selected: chosen < 0 ? undefined : chosen };
    drawTimeline(context, size, scene, readPalette());
  }, [layout, view, path, focus, pointed, chosen, width, theme]);

  // React listens to wheels passively; the page must not scroll while the timeline zooms.
  useEffect(() => {
    const element = frame.current;
    const onWheel = (event: WheelEvent): void => {
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (!event.ctrlKey && !event.metaKey && Math.abs(sideways) < 1) return;
      event.preventDefault();
      if (!event.ctrlKey && !event.metaKey) {
        onView(moved(view, layout.whole, sideways * perPixel));
        return;
      }
      const at = timeScale(view, width).invert(event.clientX - (element?.getBoundingClientRect().left ?? 0));
      onView(zoomed(view, layout.whole, at, Math.exp(event.deltaY * 0.002)));
    };
    element?.addEventListener('wheel', onWheel, { passive: false });
    return () => element?.removeEventListener('wheel', onWheel);
  }, [layout, view, width, perPixel, onView]);

  const placeOf = (event: PointerEvent): { x: number; y: number } => {
    const box = canvas.current?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  };
  const onPointerMove = (event: PointerEvent): void => {
    const place = placeOf(event);
    if (drag !== undefined) {
      const by = drag.x - place.x;
      if (Math.abs(by) > 3 && !drag.far) setDrag({ ...drag, far: true });
      setPointed(undefined);
      onView(moved(drag.view, layout.whole, by * perPixel));
      return;
    }
    const mark = markAt(layout, place, x);
    const span = mark === undefined ? spanAt(layout, place, x) : undefined;
    setPointed(mark === undefined && span === undefined ? undefined : { place, mark, span });
  };
  const onPointerUp = (event: PointerEvent): void => {
    const clicked = drag?.far === false ? markAt(layout, placeOf(event), x) : undefined;
    setDrag(undefined);
    if (clicked === undefined) return;
    setFocus(clicked);
    open(clicked);
  };
  const open = (mark: number): void => {
    const message = layout.marks[mark]?.message;
    if (message !== undefined) onOpen(message);
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const viewed = viewAfterKey(event, view, layout, focus);
    const mark = viewed === undefined ? markAfterKey(layout, focus, event.key) : undefined;
    if (viewed !== undefined) onView(viewed);
    if (mark !== undefined) {
      setFocus(mark);
      onView(showing(view, layout.whole, layout.marks[mark]?.at ?? 0));
    }
    if (event.key === 'Enter' && focus !== undefined) open(focus);
    if (viewed !== undefined || mark !== undefined) event.preventDefault();
  };

  const spoken = focus === undefined ? undefined : layout.marks[focus];
  return (
    <div
      ref={frame}
      className={drag === undefined ? 'timeline' : 'timeline timeline-dragged'}
      role="group"
      aria-roledescription="timeline"
      aria-label="Messages of the pod by service. Arrow keys go from message to message, Enter opens one, plus and minus zoom."
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ x: placeOf(event).x, view, far: false });
      }}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerLeave={() => setPointed(undefined)}
    >
      <canvas ref={canvas} style={{ width, height: layout.height }} aria-hidden="true" />
      {pointed === undefined ? null : <TimelineTip layout={layout} pointed={pointed} width={width} />}
      <p className="visually-hidden" role="status">
        {spoken === undefined
          ? ''
          : `${spoken.message.service}, ${kindNames[spoken.message.kind]} ${spoken.message.type}, after ${duration(spoken.at)}: ${spoken.message.summary}`}
      </p>
    </div>
  );
}

function viewAfterKey(
  event: KeyboardEvent,
  view: TimeView,
  { whole, marks }: TimelineLayout,
  focus: number | undefined,
): TimeView | undefined {
  const at = (focus === undefined ? undefined : marks[focus]?.at) ?? (view.from + view.to) / 2;
  const step = (view.to - view.from) / 10;
  if (event.shiftKey && event.key === 'ArrowRight') return moved(view, whole, step);
  if (event.shiftKey && event.key === 'ArrowLeft') return moved(view, whole, -step);
  if (event.key === '+' || event.key === '=') return zoomed(view, whole, at, 0.7);
  if (event.key === '-') return zoomed(view, whole, at, 1 / 0.7);
  if (event.key === '0') return whole;
  return undefined;
}
