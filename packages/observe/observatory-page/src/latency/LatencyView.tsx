import type { LatencyDocument, PodSummary } from '@kubus/contracts/observatory';
import { type ReactNode, useMemo } from 'react';
import { useLatency } from '../api/documents.ts';
import { counted, duration } from '../format/quantity.ts';
import { type Column, DataGrid } from '../grid/DataGrid.tsx';
import { useSorted } from '../grid/use-sorted.ts';
import { byPlace } from '../theme/services.ts';
import { go, goQuery, useRoute } from '../route/use-route.ts';
import { EmptyState } from '../shell/EmptyState.tsx';
import { Reading } from '../shell/Reading.tsx';
import { ServiceName } from '../shell/ServiceName.tsx';
import { StartOrStop } from '../shell/StartOrStop.tsx';
import { LatencyHistogram } from './LatencyHistogram.tsx';
import { SegmentTable } from './SegmentTable.tsx';
import { histogramOf, spreadOf, valuesOf } from './histogram.ts';

/** The durations of starts or stops of pods, and where the time went. */
export function LatencyView(): ReactNode {
  const route = useRoute();
  const what = route.query['what'] === 'stop' ? 'stop' : 'start';
  const latency = useLatency(route.recording, what);
  return (
    <div className="story">
      <h1 className="visually-hidden">Latency</h1>
      <Reading of={latency} what="the latencies">
        {(document) => <Latency key={what} document={document} />}
      </Reading>
    </div>
  );
}

const barsWanted = 36;

function Latency({ document }: { readonly document: LatencyDocument }): ReactNode {
  const route = useRoute();
  const known = document.segments.some(({ step: one }) => one === route.query['step']);
  const step = known ? route.query['step'] : undefined;
  const bar = route.query['bar'] === undefined ? undefined : Number(route.query['bar']);
  const setBar = (index: number | undefined): void => goQuery(route, { bar: index?.toString() });
  const bars = useMemo(() => histogramOf(document, step, barsWanted), [document, step]);
  const spread = useMemo(() => spreadOf(valuesOf(document, step)), [document, step]);
  const services = useMemo(
    () => [...new Set(document.segments.map(({ service }) => service))].sort(byPlace),
    [document],
  );
  const chooseStep = (chosen: string | undefined): void => goQuery(route, { step: chosen, bar: undefined });
  const chosen = bar === undefined ? undefined : bars[bar];
  return (
    <>
      <div className="toolbar">
        <StartOrStop
          what={document.what}
          onChoose={(what) => goQuery(route, { what, step: undefined, bar: undefined })}
        />
        <span role="status">
          {counted(spread.pods, 'pod')}: median <strong>{duration(spread.p50)}</strong>, 95 %{' '}
          <strong>{duration(spread.p95)}</strong>, longest <strong>{duration(spread.max)}</strong>
        </span>
        {step === undefined ? null : (
          <button type="button" onClick={() => chooseStep(undefined)}>
            Of the whole {document.what}
          </button>
        )}
        <span className="spacer" />
        <span className="legend">
          {step === undefined ? services.map((service) => <ServiceName key={service} service={service} />) : step}
        </span>
      </div>
      {document.ms.length === 0 ? (
        <EmptyState title={`No pod has completed its ${document.what} in this recording`}>
          {document.what === 'start'
            ? 'Put a manifest into the node’s folder and wait until the pod is ready.'
            : 'Remove a manifest from the node’s folder and wait until nothing of the pod is left.'}
        </EmptyState>
      ) : (
        <>
          <LatencyHistogram bars={bars} spread={spread} chosen={bar} onChoose={setBar} />
          {chosen === undefined ? (
            <SegmentTable segments={document.segments} chosen={step} onChoose={chooseStep} />
          ) : (
            <PodsOfBar
              title={`${counted(chosen.pods.length, 'pod')} from ${duration(chosen.from)} to ${duration(chosen.to)}`}
              rows={chosen.pods.flatMap((pod) => rowOf(document, step, pod))}
              onClose={() => setBar(undefined)}
            />
          )}
        </>
      )}
    </>
  );
}

interface PodRow {
  readonly pod: PodSummary;
  readonly ms: number;
}

function rowOf(document: LatencyDocument, step: string | undefined, index: number): PodRow[] {
  const pod = document.pods[index];
  const ms = valuesOf(document, step)[index];
  return pod === undefined || ms === undefined || ms === null ? [] : [{ pod, ms }];
}

const columns: readonly Column<PodRow>[] = [
  { id: 'pod', title: 'Pod', width: 'minmax(200px, 1fr)', value: ({ pod }) => pod.name, cell: ({ pod }) => pod.name },
  {
    id: 'namespace',
    title: 'Namespace',
    width: '160px',
    value: ({ pod }) => pod.namespace,
    cell: ({ pod }) => pod.namespace,
  },
  {
    id: 'ms',
    title: 'Took',
    width: '120px',
    align: 'right',
    descendingFirst: true,
    value: ({ ms }) => ms,
    cell: ({ ms }) => duration(ms),
  },
];

const longestFirst = { column: 'ms', descending: true };

interface PodsOfBarProps {
  readonly title: string;
  readonly rows: readonly PodRow[];
  readonly onClose: () => void;
}

function PodsOfBar({ title, rows, onClose }: PodsOfBarProps): ReactNode {
  const { recording } = useRoute();
  const { sorted, sort, setSort } = useSorted(rows, columns, 'pods', longestFirst);
  return (
    <section className="panel" aria-label="Pods of the bar">
      <div className="panel-head">
        <h2>{title}</h2>
        <button type="button" onClick={onClose}>
          Back to the steps
        </button>
      </div>
      <DataGrid
        label={title}
        columns={columns}
        count={sorted.length}
        rowAt={(index) => sorted[index]}
        keyOf={({ pod }) => pod.uid}
        sort={sort}
        onSort={setSort}
        onOpen={({ pod }) => go({ recording, view: 'pods', pod: pod.uid, query: {} })}
        empty="No pod is in this bar any more: the recording has grown. Go back to the steps."
      />
    </section>
  );
}
