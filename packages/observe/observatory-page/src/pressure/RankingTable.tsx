import type { RankedPodDocument, RankingDocument } from '@kubus/contracts/observatory';
import type { ReactNode } from 'react';
import { live } from '../api/documents.ts';
import { counted } from '../format/quantity.ts';
import { type Column, DataGrid } from '../grid/DataGrid.tsx';
import { go } from '../route/use-route.ts';

const columns: readonly Column<RankedPodDocument>[] = [
  {
    id: 'order',
    title: 'Order',
    hint: 'Critical pods never go',
    width: '58px',
    cell: ({ order }) => order ?? 'never',
  },
  {
    id: 'pod',
    title: 'Pod',
    width: 'minmax(150px, 1fr)',
    cell: ({ namespace, name }) => `${namespace}/${name}`,
  },
  {
    id: 'above',
    title: 'Above request',
    width: '116px',
    cell: ({ aboveRequest }) => (aboveRequest ? 'yes' : 'no'),
  },
  { id: 'priority', title: 'Priority', width: '104px', align: 'right', cell: ({ priority }) => priority },
  { id: 'uses', title: 'Uses', width: '92px', align: 'right', cell: ({ uses }) => uses ?? 'unknown' },
  { id: 'requests', title: 'Requests', width: '92px', align: 'right', cell: ({ requests }) => requests ?? '–' },
];

/** Which pods would go, in which order, with the numbers that rank them. Enter opens the timeline of one. */
export function RankingTable({ ranking }: { readonly ranking: RankingDocument }): ReactNode {
  const { signal, pods, leftOut } = ranking;
  return (
    <section className="panel pressure-ranking" aria-label="Pods that would go">
      <div className="panel-head">
        <h2>For {signal} would go</h2>
        <span className="dim" role="status">
          {counted(pods.length + leftOut, 'pod')}
          {leftOut === 0 ? '' : `, the first ${pods.length} are shown`}
        </span>
      </div>
      <DataGrid
        label="Pods that would go"
        columns={columns}
        count={pods.length}
        rowAt={(index) => pods[index]}
        keyOf={({ uid }) => uid}
        onOpen={({ uid }) => go({ recording: live, view: 'pods', pod: uid, query: {} })}
        empty={`No pod runs that could be evicted for ${signal}.`}
      />
    </section>
  );
}
