import type { PodTimeline } from '@kubus/contracts/observatory';
import { type ReactNode, useMemo } from 'react';
import { usePodTimeline } from '../api/documents.ts';
import { dateAndTime } from '../format/moment.ts';
import { zoneAt, zoneChoice } from '../format/zone.ts';
import { counted, duration } from '../format/quantity.ts';
import { KindMark } from '../theme/KindMark.tsx';
import { kindNames } from '../theme/kind-shape.ts';
import { formatRoute } from '../route/route.ts';
import { goQuery, inspect, useRoute } from '../route/use-route.ts';
import { rangeQuery } from '../overview/density-layout.ts';
import { Reading } from '../shell/Reading.tsx';
import { PodAnswerPanel } from './PodAnswerPanel.tsx';
import { PodDevices } from './PodDevices.tsx';
import { CriticalPathTable } from './CriticalPathTable.tsx';
import { TimelineCanvas } from './TimelineCanvas.tsx';
import { layoutTimeline } from './timeline-layout.ts';
import { around } from './time-view.ts';
import { useChosenTime } from './use-chosen-time.ts';

/** The timeline of one pod, with the critical path of its start or stop. */
export function PodTimelineView({ uid }: { readonly uid: string }): ReactNode {
  const { recording } = useRoute();
  const timeline = usePodTimeline(recording, uid);
  return (
    <Reading of={timeline} what="the pod">
      {(document) => <Story timeline={document} />}
    </Reading>
  );
}

function Story({ timeline }: { readonly timeline: PodTimeline }): ReactNode {
  const route = useRoute();
  const layout = useMemo(() => layoutTimeline(timeline), [timeline]);
  const zero = layout.marks[0]?.message.at ?? 0;
  const wanted = route.query['path'] ?? 'start';
  const path = timeline.paths.find(({ what }) => what === wanted);
  const ofPath = path === undefined ? layout.whole : around(path.from.at - zero, path.to.at - zero, layout.whole);
  // The zoom stays while more messages arrive; another path is shown completely.
  const [chosen, setChosen] = useChosenTime(zero);
  const view = chosen ?? ofPath;
  const selected = Number(route.query['message'] ?? NaN);
  return (
    <div className="story story-of-pod">
      <PodHead timeline={timeline} />
      <PodAnswerPanel answer={timeline.answer} />
      <PodDevices timeline={timeline} />
      <div className="toolbar">
        <fieldset className="choice">
          <legend className="visually-hidden">Critical path</legend>
          {(['start', 'stop', 'none'] as const).map((what) => (
            <button
              key={what}
              type="button"
              aria-pressed={wanted === what}
              disabled={what !== 'none' && !timeline.paths.some((one) => one.what === what)}
              onClick={() => goQuery(route, { path: what, ...rangeQuery(undefined) })}
            >
              {what === 'none' ? 'No path' : `Path of the ${what}`}
            </button>
          ))}
        </fieldset>
        <button type="button" onClick={() => setChosen(layout.whole)}>
          Show all
        </button>
        <button type="button" disabled={path === undefined} onClick={() => setChosen(undefined)}>
          Show the path
        </button>
        <span className="spacer" />
        <Legend />
      </div>
      <TimelineCanvas
        layout={layout}
        path={path}
        view={view}
        onView={setChosen}
        selected={selected}
        onOpen={({ seq }) => inspect(route, seq)}
      />
      {path === undefined ? (
        <p className="dim">
          {timeline.paths.length === 0
            ? 'The pod has neither become ready nor stopped in this recording, so there is no critical path yet. Its messages are above.'
            : 'Choose a path to see what the pod waited for.'}
        </p>
      ) : (
        <CriticalPathTable
          path={path}
          zero={zero}
          selected={selected}
          onOpen={({ effect }) => inspect(route, effect.seq)}
        />
      )}
    </div>
  );
}

function PodHead({ timeline: { pod, messages } }: { readonly timeline: PodTimeline }): ReactNode {
  const { recording } = useRoute();
  return (
    <div className="pod-head">
      <h1>
        <span className="dim">{pod.namespace} /</span> {pod.name}
      </h1>
      <span className="dim">phase {pod.phase ?? 'none yet'}</span>
      <span className="dim">
        since {dateAndTime(pod.firstAt)} {zoneAt(pod.firstAt, zoneChoice())}
      </span>
      {pod.startMs === undefined ? null : <span>start {duration(pod.startMs)}</span>}
      {pod.stopMs === undefined ? null : <span>stop {duration(pod.stopMs)}</span>}
      <a href={formatRoute({ recording, view: 'messages', query: { pod: pod.uid } })}>
        {counted(messages.length, 'message')}
      </a>
      <a href={formatRoute({ recording, view: 'compare', query: { left: `${recording}/${pod.uid}` } })}>compare</a>
      <span className="dim uid">{pod.uid}</span>
    </div>
  );
}

function Legend(): ReactNode {
  return (
    <span className="legend dim">
      {(['fact', 'cmd', 'reply', 'event'] as const).map((kind) => (
        <span key={kind}>
          <KindMark kind={kind} /> {kindNames[kind]}
        </span>
      ))}
      <span>
        <span className="legend-path" aria-hidden="true" /> critical path
      </span>
    </span>
  );
}
