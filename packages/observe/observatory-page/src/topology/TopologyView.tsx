import type { TopologyDocument } from '@kubus/contracts/observatory';
import { type ReactNode, useMemo } from 'react';
import { ApiError } from '../api/api-error.ts';
import { useRecording, useTopology } from '../api/documents.ts';
import { goQuery, useRoute } from '../route/use-route.ts';
import { EmptyState } from '../shell/EmptyState.tsx';
import { Reading } from '../shell/Reading.tsx';
import { MomentChooser } from './MomentChooser.tsx';
import { NodeCard } from './NodeCard.tsx';
import { TopologyTables } from './TopologyTables.tsx';
import { cpuMarks } from './cpu-marks.ts';
import '../pressure/pressure.css';
import './topology.css';

/** The machine and who has what of it, now or at a moment of a recording: `kubus topology`, drawn. */
export function TopologyView(): ReactNode {
  const route = useRoute();
  const { recording, query } = route;
  const asked = Number(query['at'] ?? NaN);
  const at = Number.isFinite(asked) ? asked : undefined;
  const topology = useTopology(recording, at);
  const unknown = topology.error instanceof ApiError && topology.error.code === 'no-topology';
  return (
    <div className="story pressure">
      <h1 className="visually-hidden">Topology</h1>
      {unknown ? (
        <EmptyState title="The recording does not say what the machine is like">
          The node publishes it when it starts, and when something changes.{' '}
          {at === undefined ? null : (
            <button type="button" onClick={() => goQuery(route, { at: undefined })}>
              Show the end of the recording
            </button>
          )}
        </EmptyState>
      ) : (
        <Reading of={topology} what="the machine">
          {(document) => <Topology document={document} at={at} />}
        </Reading>
      )}
    </div>
  );
}

function Topology({
  document,
  at,
}: {
  readonly document: TopologyDocument;
  readonly at: number | undefined;
}): ReactNode {
  const { recording } = useRoute();
  const about = useRecording(recording).data;
  const markOf = useMemo(() => cpuMarks(document.cpus), [document]);
  const { cpu, memory, topology, scope } = document.policies;
  return (
    <>
      {about?.firstAt === undefined || about.lastAt === undefined ? null : (
        <MomentChooser moments={document.moments} at={at} from={about.firstAt} to={about.lastAt} />
      )}
      <p>
        CPU policy <strong>{cpu}</strong>, memory policy <strong>{memory}</strong>, topology policy{' '}
        <strong>{topology}</strong> (scope {scope})
      </p>
      <div className="signal-cards">
        {document.nodes.map((node) => (
          <NodeCard key={node.id} node={node} markOf={markOf} />
        ))}
      </div>
      <TopologyTables document={document} />
    </>
  );
}
