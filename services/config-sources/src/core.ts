import type { Bus } from '@kubus/bus';
import { type ManifestReport, type SourceName, clusterNode } from '@kubus/contracts';
import type { Rate } from '@kubus/event-correlator';
import type { Core, RunningCore } from '@kubus/journal';
import { publishSources } from './publish.ts';
import type { NamedSet, SourceMerge, SourceTaker } from './source-merge.ts';

interface ConfigSourcesInputs {
  /** The sources that this node has. */
  readonly sources: readonly SourceName[];
  readonly eventRate?: Rate | undefined;
}

/** The merge of a node's sources, and what it waits for. */
export interface RunningMerge {
  readonly merge: SourceMerge;
  /** Resolves once the Node object is known: pods of the API are admitted by it (kubelet behaviour 1.1). */
  readonly node: Promise<void>;
}

/** The merge of the sources and its way to the bus; what the sources have read is told it. */
export const configSourcesCore: Core<ConfigSourcesInputs, Readonly<Record<string, object>>, RunningMerge> = {
  service: 'config-sources',
  outside: {},
  start: (ports, inputs) => {
    // Followed by every node, as the contract says; awaited only for the API server.
    const node = nodeObject(ports.bus);
    return Promise.resolve({ merge: publishSources({ ...ports, ...inputs }), node });
  },
  call: ({ merge }, name, argument) => {
    if (name === 'take') merge.take(argument as NamedSet);
    else if (name === 'manifest') merge.manifest(argument as ManifestReport);
    else if (name === 'manifestGone') merge.manifestGone(argument as string);
  },
};

/** Hands what the sources have read to the core. */
export function takerOf(core: RunningCore<RunningMerge>): SourceTaker {
  return {
    take: (set) => void core.call('take', set),
    manifest: (report) => void core.call('manifest', report),
    manifestGone: (path) => void core.call('manifestGone', path),
    held: (uid) => core.running.merge.held(uid),
  };
}

function nodeObject(bus: Bus): Promise<void> {
  return new Promise((resolve) => {
    bus.reader(clusterNode, { changed: ({ key }) => key === bus.node && resolve() });
  });
}
