import type { Bus } from '@kubus/bus';
import { type SourceName, clusterNode } from '@kubus/contracts';
import type { Rate } from '@kubus/flow';
import type { Core, RunningCore } from '@kubus/journal';
import { publishSources } from './publish.ts';
import type { SourceMerge, SourceTaker } from './source-merge.ts';

interface ConfigSourcesInputs {
  /** The sources that this node has. */
  readonly sources: readonly SourceName[];
  readonly eventRate?: Rate | undefined;
}

/** The merge of a node's sources, and what it waits for. */
export interface RunningMerge {
  readonly merge: SourceMerge;
  /** Resolves once the Node object is known: pods of the API are admitted by it (behaviour:pod-sources). */
  readonly node: Promise<void>;
}

/** What the sources have read. */
type SourceCalls = Pick<SourceTaker, 'take' | 'manifest' | 'manifestGone'>;

/** The merge of the sources and its connection to the bus; it receives what the sources have read. */
export const configSourcesCore: Core<
  ConfigSourcesInputs,
  Readonly<Record<string, object>>,
  RunningMerge,
  SourceCalls
> = {
  service: 'config-sources',
  outside: {},
  start: (ports, inputs) => {
    // Every node follows the Node object, as the contract says; only the API source waits for it.
    const node = nodeObject(ports.bus);
    return Promise.resolve({ merge: publishSources({ ...ports, ...inputs }), node });
  },
  calls: ({ merge }) => ({
    take: (set) => merge.take(set),
    manifest: (report) => merge.manifest(report),
    manifestGone: (path) => merge.manifestGone(path),
  }),
};

/** Passes what the sources have read to the core. */
export function takerOf(core: RunningCore<RunningMerge, SourceCalls>): SourceTaker {
  return {
    take: (set) => void core.calls.take(set),
    manifest: (report) => void core.calls.manifest(report),
    manifestGone: (path) => void core.calls.manifestGone(path),
    held: (uid) => core.running.merge.held(uid),
  };
}

function nodeObject(bus: Bus): Promise<void> {
  return new Promise((resolve) => {
    bus.reader(clusterNode, { changed: ({ key }) => key === bus.node && resolve() });
  });
}
