import type { ReactNode } from 'react';
import { count, duration } from '../format/quantity.ts';
import { kindNames } from '../theme/kind-shape.ts';
import type { SpanBar, TimelineLayout } from './timeline-layout.ts';

/** The item under the pointer. */
export interface Pointed {
  readonly place: { readonly x: number; readonly y: number };
  readonly mark: number | undefined;
  readonly span: SpanBar | undefined;
}

interface Props {
  readonly layout: TimelineLayout;
  readonly pointed: Pointed;
  readonly width: number;
}

/** Describes a mark or a bar. */
export function TimelineTip({ layout, pointed: { place, mark, span }, width }: Props): ReactNode {
  const side = place.x > width / 2 ? { right: width - place.x + 14 } : { left: place.x + 14 };
  const above = place.y > layout.height / 2;
  return (
    <div className={above ? 'tip tip-above' : 'tip'} style={{ ...side, top: above ? place.y - 10 : place.y + 12 }}>
      {mark === undefined ? <SpanText span={span} /> : <MarkText layout={layout} mark={mark} />}
    </div>
  );
}

function MarkText({ layout, mark }: { readonly layout: TimelineLayout; readonly mark: number }): ReactNode {
  const shown = layout.marks[mark];
  if (shown === undefined) return null;
  const { message, at } = shown;
  const cause = layout.marks[shown.causes[0] ?? -1];
  const onBus = cause === undefined || message.heard === undefined ? undefined : message.heard - cause.message.at;
  return (
    <>
      <strong>{message.type}</strong> <span className="dim">{kindNames[message.kind]}</span>
      <div>{message.summary}</div>
      <div className="dim">
        {message.source}, {duration(at)} after the first
      </div>
      {cause === undefined ? null : (
        <div className="dim">
          {duration(at - cause.at)} after {cause.message.type}
          {onBus === undefined ? '' : `, ${duration(onBus)} of it on the bus`}
        </div>
      )}
      <div className="dim">{count(message.bytes)} bytes</div>
    </>
  );
}

function SpanText({ span }: { readonly span: SpanBar | undefined }): ReactNode {
  if (span === undefined) return null;
  return (
    <>
      <strong>{span.span.name}</strong> <span className="dim">{span.span.service}</span>
      <div>
        {duration(span.to - span.from)}, from {duration(span.from)} to {duration(span.to)}
      </div>
      {span.span.failed === undefined ? null : <div className="bad">✕ failed: {span.span.failed}</div>}
    </>
  );
}
