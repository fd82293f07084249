import type { PodSummary, RecordingDocument } from '@kubus/contracts/observatory';
import { median } from 'd3-array';
import type { ReactNode } from 'react';
import { live, useDensity, usePods, useRecording } from '../api/documents.ts';
import { useLive } from '../api/live.tsx';
import { clockSeconds, dateAndTime } from '../format/moment.ts';
import { zoneAt, zoneChoice } from '../format/zone.ts';
import { count, duration } from '../format/quantity.ts';
import { CompletenessMark } from '../recordings/CompletenessMark.tsx';
import { formatRoute } from '../route/route.ts';
import { goQuery, useRoute } from '../route/use-route.ts';
import { EmptyState } from '../shell/EmptyState.tsx';
import { Reading } from '../shell/Reading.tsx';
import { DensityChart } from './DensityChart.tsx';
import { type TimeRange, messagesIn, rangeOf, rangeQuery } from './density-layout.ts';
import { PodTable } from './PodTable.tsx';
import { ServiceTable } from './ServiceTable.tsx';
import './overview.css';

const buckets = 300;

/** An overview: messages over time, pods, services. */
export function Overview(): ReactNode {
  const route = useRoute();
  const { tick } = useLive();
  const recording = useRecording(route.recording);
  const density = useDensity(route.recording, buckets);
  const pods = usePods(route.recording);
  const range = rangeOf(route.query);
  const rates = route.recording === live ? tick?.rates : undefined;
  if (recording.data?.messages === 0) {
    return (
      <EmptyState whole title="Nothing has been recorded yet">
        Messages appear here as soon as the node publishes them. Start a pod: put a manifest into the folder that{' '}
        <code>./kubus up --manifests PATH</code> named.
      </EmptyState>
    );
  }
  return (
    <div className="overview">
      <h1 className="visually-hidden">Overview</h1>
      <Reading of={recording} what="the recording">
        {(document) => <Figures recording={document} pods={pods.data} />}
      </Reading>
      <Reading of={density} what="the messages over time">
        {(document) => (
          <>
            <DensityChart
              density={document}
              range={range}
              height={150}
              onRange={(chosen) => goQuery(route, rangeQuery(chosen))}
            />
            <RangeLine range={range} messages={range && messagesIn(document, range)} />
          </>
        )}
      </Reading>
      <div className="overview-lists">
        <Reading of={pods} what="the pods">
          {(document) => <PodTable pods={document} range={range} now={recording.data?.lastAt ?? 0} />}
        </Reading>
        <Reading of={density} what="the services">
          {(document) => <ServiceTable density={document} rates={rates} />}
        </Reading>
      </div>
    </div>
  );
}

function Figures({
  recording,
  pods,
}: {
  recording: RecordingDocument;
  pods: readonly PodSummary[] | undefined;
}): ReactNode {
  const { messages, firstAt, lastAt, completeness } = recording;
  const start = median(pods ?? [], ({ startMs }) => startMs);
  const stop = median(pods ?? [], ({ stopMs }) => stopMs);
  return (
    <dl className="figures">
      <Figure name="Messages" value={count(messages)} />
      <Figure name="Pods" value={pods === undefined ? '…' : count(pods.length)} />
      <Figure name="Ready" value={pods === undefined ? '…' : count(pods.filter(({ ready }) => ready).length)} />
      <Figure name="Start, median" value={start === undefined ? '–' : duration(start)} />
      <Figure name="Stop, median" value={stop === undefined ? '–' : duration(stop)} />
      <Figure
        name="Covers"
        value={firstAt === undefined || lastAt === undefined ? '–' : duration(lastAt - firstAt)}
        hint={firstAt === undefined ? '' : `from ${dateAndTime(firstAt)} ${zoneAt(firstAt, zoneChoice())}`}
      />
      <Figure name="Completeness" value={<CompletenessMark completeness={completeness} />} />
    </dl>
  );
}

function Figure({ name, value, hint }: { name: string; value: ReactNode; hint?: string }): ReactNode {
  return (
    <div className="figure" title={hint}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function RangeLine({ range, messages }: { range: TimeRange | undefined; messages: number | undefined }): ReactNode {
  const route = useRoute();
  if (range === undefined) {
    return <p className="range-line dim">Drag over the chart to choose a range; the lists follow it.</p>;
  }
  const href = formatRoute({ recording: route.recording, view: 'messages', query: definedOf(rangeQuery(range)) });
  return (
    <p className="range-line">
      {clockSeconds(range.from)} to {clockSeconds(range.to)} ({duration(range.to - range.from)}), about{' '}
      {count(messages ?? 0)} messages. <a href={href}>Show them</a>{' '}
      <button type="button" onClick={() => goQuery(route, rangeQuery(undefined))}>
        Clear the range
      </button>
    </p>
  );
}

function definedOf(query: { from: string | undefined; to: string | undefined }): Record<string, string> {
  return { from: query.from ?? '', to: query.to ?? '' };
}
