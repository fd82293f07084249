import type { PodSummary } from '@kubus/contracts/observatory';
import { type ReactNode, useDeferredValue, useMemo } from 'react';
import { counted } from '../format/quantity.ts';
import { DataGrid } from '../grid/DataGrid.tsx';
import { useSorted } from '../grid/use-sorted.ts';
import { go, goQuery, useRoute } from '../route/use-route.ts';
import type { TimeRange } from './density-layout.ts';
import { StateLegend } from './StateLegend.tsx';
import { podColumns } from './pod-columns.tsx';
import { podsMatching } from './pods-matching.ts';

interface Props {
  readonly pods: readonly PodSummary[];
  /** Only those with messages in it. */
  readonly range: TimeRange | undefined;
  /** The reference time for "ago": now for a node, the end of a recording otherwise. */
  readonly now: number;
}

const latestFirst = { column: 'last', descending: true };
const nothingChosen = { q: undefined, state: undefined, from: undefined, to: undefined };

/** The pods of a recording: sorted by any column, filtered by text. */
export function PodTable({ pods, range, now }: Props): ReactNode {
  const route = useRoute();
  const { recording } = route;
  const text = route.query['q'] ?? '';
  const state = route.query['state'];
  const wanted = useDeferredValue(text);
  const columns = useMemo(() => podColumns(recording, now), [recording, now]);
  const found = useMemo(() => podsMatching(pods, wanted, range), [pods, wanted, range]);
  const matching = useMemo(
    () => (state === undefined ? found : found.filter((pod) => pod.state === state)),
    [found, state],
  );
  const { sorted, sort, setSort } = useSorted(matching, columns, 'pods', latestFirst);
  return (
    <section className="panel" aria-label="Pods">
      <div className="panel-head">
        <h2>Pods</h2>
        <input
          type="search"
          data-filter=""
          aria-label="Filter the pods"
          placeholder="Filter by name, state, UID"
          value={text}
          onChange={(event) => goQuery(route, { q: event.target.value })}
        />
        <span className="dim" role="status">
          {sorted.length === pods.length
            ? counted(pods.length, 'pod')
            : `${sorted.length} of ${counted(pods.length, 'pod')}`}
        </span>
      </div>
      <StateLegend pods={found} chosen={state} onChoose={(chosen) => goQuery(route, { state: chosen })} />
      <DataGrid
        label="Pods"
        columns={columns}
        count={sorted.length}
        rowAt={(index) => sorted[index]}
        keyOf={({ uid }) => uid}
        sort={sort}
        onSort={setSort}
        onOpen={({ uid }) => go({ recording, view: 'pods', pod: uid, query: {} })}
        empty={
          pods.length === 0 ? (
            <>
              No pod has been seen yet. Put a manifest into the folder that <code>./kubus up --manifests PATH</code>{' '}
              named.
            </>
          ) : (
            <>
              No pod matches. Clear the filter, or choose a longer range.{' '}
              <button type="button" onClick={() => goQuery(route, nothingChosen)}>
                Show all pods
              </button>
            </>
          )
        }
      />
    </section>
  );
}
