import type { CriticalPath, Segment } from '@kubus/contracts/observatory';
import { type ReactNode, useMemo } from 'react';
import { duration } from '../format/quantity.ts';
import { type Column, DataGrid } from '../grid/DataGrid.tsx';
import { ServiceName } from '../shell/ServiceName.tsx';

interface Props {
  readonly path: CriticalPath;
  readonly zero: number;
  /** Sequence of the message in the inspector. */
  readonly selected: number | undefined;
  readonly onOpen: (segment: Segment) => void;
}

/** Each step that the pod waited for, with its time on the bus, in a queue and at work. */
export function CriticalPathTable({ path, zero, selected, onOpen }: Props): ReactNode {
  const columns = useMemo(() => segmentColumns(path, zero), [path, zero]);
  const chosen = path.segments.find(({ effect }) => effect.seq === selected);
  return (
    <section className="panel path-panel" aria-label={`Critical path of the ${path.what}`}>
      <div className="panel-head">
        <h2>Critical path of the {path.what}</h2>
        <strong>{duration(path.ms)}</strong>
        <span>
          <Times of={path} share={1} /> <span className="legend-bus">bus</span> {duration(path.busMs)},{' '}
          <span className="legend-queue">queue</span> {duration(path.queueMs)},{' '}
          <span className="legend-work">work</span> {duration(path.workMs)}
        </span>
      </div>
      <DataGrid
        label={`Segments of the critical path of the ${path.what}`}
        columns={columns}
        count={path.segments.length}
        rowAt={(index) => path.segments[index]}
        keyOf={({ effect }) => effect.id}
        selected={chosen?.effect.id}
        onOpen={onOpen}
        empty="The path has only one message, so there is no time to break down. The timeline above has all messages."
      />
    </section>
  );
}

function segmentColumns(path: CriticalPath, zero: number): readonly Column<Segment>[] {
  const longest = Math.max(...path.segments.map(({ ms }) => ms), 0.001);
  const time = (id: 'busMs' | 'queueMs' | 'workMs' | 'ms', title: string): Column<Segment> => ({
    id,
    title,
    width: '68px',
    align: 'right',
    cell: (segment) => (segment[id] === 0 ? <span className="dim">0</span> : duration(segment[id])),
  });
  return [
    {
      id: 'at',
      title: 'at ms',
      width: '62px',
      align: 'right',
      cell: ({ effect }) => (effect.at - zero).toFixed(1),
    },
    {
      id: 'service',
      title: 'Service',
      width: '146px',
      cell: ({ service }) => <ServiceName service={service} />,
    },
    {
      id: 'step',
      title: 'Step: cause and effect',
      width: 'minmax(150px, 1fr)',
      cell: ({ cause, effect }) => (
        <span title={`${cause.type} (${cause.summary}) → ${effect.type} (${effect.summary})`}>
          <span className="dim">{shortType(cause.type)} →</span> {shortType(effect.type)}{' '}
          <span className="dim">{effect.summary}</span>
        </span>
      ),
    },
    time('ms', 'All'),
    {
      id: 'bar',
      title: 'bus, queue, work',
      width: 'minmax(120px, 200px)',
      cell: (segment) => <Times of={segment} share={segment.ms / longest} />,
    },
    time('busMs', 'Bus'),
    time('queueMs', 'Queue'),
    time('workMs', 'Work'),
  ];
}

interface Split {
  readonly busMs: number;
  readonly queueMs: number;
  readonly workMs: number;
  readonly ms: number;
}

function Times({ of, share }: { readonly of: Split; readonly share: number }): ReactNode {
  const part = (ms: number): string => `${of.ms === 0 ? 0 : (ms / of.ms) * 100}%`;
  return (
    <span className="times" aria-hidden="true">
      <span className="times-bar" style={{ width: `${Math.max(1, share * 100)}%` }}>
        <span className="times-bus" style={{ width: part(of.busMs) }} />
        <span className="times-queue" style={{ width: part(of.queueMs) }} />
        <span className="times-work" style={{ width: part(of.workMs) }} />
      </span>
    </span>
  );
}

function shortType(type: string): string {
  return type.replace(/\/\d+$/, '');
}
