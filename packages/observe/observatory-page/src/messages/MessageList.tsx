import type { MessageBrief, PodSummary } from '@kubus/contracts/observatory';
import { type ReactNode, useEffect, useMemo } from 'react';
import { live } from '../api/documents.ts';
import { useLive } from '../api/live.tsx';
import { clock } from '../format/moment.ts';
import { zoneAt, zoneChoice } from '../format/zone.ts';
import { bytes, count, counted } from '../format/quantity.ts';
import { type Column, DataGrid } from '../grid/DataGrid.tsx';
import { KindMark } from '../theme/KindMark.tsx';
import { colorOf } from '../theme/services.ts';
import { inspect, useRoute } from '../route/use-route.ts';
import { Failure } from '../shell/Failure.tsx';
import { type MessageFilter, isFiltered } from './message-filter.ts';
import { type MessageRows, useMessageRows } from './use-message-rows.ts';

interface Props {
  readonly filter: MessageFilter;
  readonly pods: readonly PodSummary[];
  /** About how many there are; undefined where only reading them would tell. */
  readonly expected: number | undefined;
}

/** The messages that match a filter, in the order of the broker. */
export function MessageList({ filter, pods, expected }: Props): ReactNode {
  const route = useRoute();
  const rows = useMessageRows(route.recording, filter);
  const columns = useMemo(() => messageColumns(pods), [pods]);
  useGrowth(route.recording, rows.whole, rows.readOn);
  return (
    <>
      {rows.error === undefined ? null : <Failure error={rows.error} doing="read messages" onRetry={rows.readOn} />}
      <DataGrid
        label="Messages"
        columns={columns}
        count={rows.count}
        rowAt={rows.rowAt}
        keyOf={({ seq }) => String(seq)}
        selected={route.query['message']}
        busy={rows.reading}
        onSight={rows.onSight}
        onOpen={({ seq }) => inspect(route, seq)}
        empty={
          isFiltered(filter)
            ? 'No message matches the filters. Press Clear above, or choose a longer range.'
            : 'Nothing has been recorded yet. Messages appear here as soon as the node publishes them.'
        }
      />
      <div className="list-foot dim">
        {rows.whole || expected === undefined ? null : (
          <progress aria-label="Read so far" value={Math.min(rows.count - 1, expected)} max={Math.max(1, expected)} />
        )}
        <span role="status">{footOf(rows, expected)}</span>
        {rows.reading ? <span className="reading-mark">reading …</span> : null}
      </div>
    </>
  );
}

/** How much of the list has been read, and how to get the rest. */
function footOf({ whole, count: rows }: Pick<MessageRows, 'whole' | 'count'>, expected: number | undefined): string {
  if (whole) return `${counted(rows, 'message')}, all of them`;
  const of = expected === undefined ? '' : ` of about ${count(Math.max(expected, rows - 1))}`;
  return `${count(rows - 1)} loaded so far${of}; scroll down for more`;
}

/** At the end of a growing recording, load more when the node has published something. */
function useGrowth(recording: string, whole: boolean, readOn: () => void): void {
  const { tick } = useLive();
  const seq = recording === live ? tick?.seq : undefined;
  useEffect(() => {
    if (whole && seq !== undefined) readOn();
    // Only a new sequence number is a reason to load; `readOn` changes at each render.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [seq]);
}

function messageColumns(pods: readonly PodSummary[]): readonly Column<MessageBrief>[] {
  const names = new Map(pods.map(({ uid, name }) => [uid, name]));
  return [
    {
      id: 'seq',
      title: 'Seq',
      width: '78px',
      align: 'right',
      cell: ({ seq }) => <span className="dim">{count(seq)}</span>,
    },
    {
      id: 'at',
      title: 'Published',
      hint: `In ${zoneAt(Date.now(), zoneChoice())}`,
      width: '104px',
      cell: ({ at }) => clock(at),
    },
    {
      id: 'source',
      title: 'Source',
      width: '156px',
      cell: ({ service, source }) => (
        <span className="service">
          <span aria-hidden="true" className="swatch" style={{ background: colorOf(service) }} />
          {source}
        </span>
      ),
    },
    {
      id: 'type',
      title: 'Type',
      width: 'minmax(190px, 1.1fr)',
      cell: ({ kind, type, service }) => (
        <span title={type}>
          <KindMark kind={kind} color={colorOf(service)} /> {type}
        </span>
      ),
    },
    {
      id: 'pod',
      title: 'Pod',
      width: 'minmax(120px, 0.9fr)',
      cell: ({ pod }) =>
        pod === undefined ? <span className="dim">–</span> : <span title={pod}>{names.get(pod) ?? pod}</span>,
    },
    {
      id: 'summary',
      title: 'Summary',
      width: 'minmax(140px, 1.4fr)',
      cell: ({ summary }) => <span title={summary}>{summary}</span>,
    },
    { id: 'bytes', title: 'Size', width: '74px', align: 'right', cell: (message) => bytes(message.bytes) },
  ];
}
