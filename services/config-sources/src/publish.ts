import type { Bus, Cause, FactOwner } from '@kubus/bus';
import {
  type ManifestReport,
  type PodUpdate,
  type SourceName,
  type UnusedPod,
  configEvent,
  configNodeEvent,
  configuredSources,
  desiredPods,
  manifest,
  sourceNames,
} from '@kubus/contracts';
import type { Rate } from '@kubus/flow';
import type { Clock, Logger } from '@kubus/ports';
import { EventRecorder, type NodeEvents, type PodEvents } from '@kubus/service-kit';
import { type ConfigOutput, SourceMerge } from './source-merge.ts';
import { UnusedPods } from './unused-pods.ts';

/** Merges the sources and publishes them: each pod is a fact of its source, each manifest file a report. */
export function publishSources(options: {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The sources that this node has. */
  readonly sources: readonly SourceName[];
  /** See {@link EventRecorder}. */
  readonly eventRate?: Rate | undefined;
}): SourceMerge {
  const { bus, clock, logger, sources, eventRate } = options;
  const recorder = new EventRecorder({ bus, clock, rate: eventRate });
  const output = new SourcesOnBus(bus, recorder.ofPods(configEvent), recorder.ofNode(configNodeEvent));
  output.configured(sources);
  return new SourceMerge({ registered: sources, output, logger });
}

class SourcesOnBus implements ConfigOutput {
  readonly #events: PodEvents;
  readonly #nodeEvents: NodeEvents;
  readonly #pods: Readonly<Record<SourceName, FactOwner<PodUpdate>>>;
  readonly #manifests: FactOwner<ManifestReport>;
  readonly #sources: FactOwner<{ sources: SourceName[] }>;
  /** By path of a manifest: the UIDs of its pods. */
  readonly #uids = new Map<string, readonly string[]>();
  readonly #unused = new UnusedPods();
  /** By UID of a pod: the last message about its manifest. */
  readonly #causes = new Map<string, Cause>();

  constructor(bus: Bus, events: PodEvents, nodeEvents: NodeEvents) {
    this.#events = events;
    this.#nodeEvents = nodeEvents;
    this.#pods = {
      file: bus.owner(desiredPods.file),
      http: bus.owner(desiredPods.http),
      api: bus.owner(desiredPods.api),
    };
    this.#manifests = bus.owner(manifest);
    this.#sources = bus.owner(configuredSources);
  }

  configured(sources: readonly SourceName[]): void {
    this.#sources.put('sources', { sources: [...sources] });
    // A source that this node does not have is complete and empty: its facts of earlier processes are removed.
    for (const source of sourceNames) if (!sources.includes(source)) this.#pods[source].complete();
    if (!sources.includes('file')) this.#manifests.complete();
  }

  pod(source: SourceName, update: PodUpdate): void {
    const { uid } = update.pod.metadata;
    this.#pods[source].put(uid, update, { pod: uid, causes: this.#causesOf(uid) });
  }

  removed(source: SourceName, uid: string): void {
    this.#pods[source].remove(uid, { pod: uid, causes: this.#causesOf(uid) });
    this.#causes.delete(uid);
    this.#events.forget(uid);
  }

  complete(source: SourceName): void {
    this.#pods[source].complete();
    if (source === 'file') this.#manifests.complete();
  }

  manifest(path: string, report: ManifestReport): void {
    const cause = this.#manifests.put(path, report);
    this.#caused(path, cause);
    this.#setUnused(path, report.unused ?? [], cause);
    const uids = report.pods.map(({ uid }) => uid);
    this.#uids.set(path, uids);
    for (const uid of uids) this.#causes.set(uid, cause);
    const [first, ...more] = report.errors;
    if (first !== undefined) this.#nodeEvents.record(invalid(path, first, more.length), [cause]);
  }

  manifestGone(path: string): void {
    const cause = this.#manifests.remove(path);
    if (cause !== undefined) {
      this.#caused(path, cause);
      this.#setUnused(path, [], cause);
    }
    this.#uids.delete(path);
  }

  event({ pod, message, ...event }: Parameters<ConfigOutput['event']>[0]): void {
    const files = this.#unused.filesOf(pod.uid);
    this.#events.record({ ref: pod, ...event, message: `${message}${files}` }, this.#causesOf(pod.uid));
  }

  #setUnused(path: string, unused: readonly UnusedPod[], cause: Cause): void {
    // A pod with the UID of the one that is run keeps the causes of that one.
    const uidsOf = (all: readonly UnusedPod[]) =>
      all.flatMap(({ pod, other }) => (pod.uid === other.uid ? [] : [pod.uid]));
    for (const uid of uidsOf(this.#unused.of(path))) this.#causes.delete(uid);
    for (const uid of uidsOf(unused)) this.#causes.set(uid, cause);
    for (const event of this.#unused.set(path, unused)) this.#events.record(event, [cause]);
  }

  /** A message is the cause of what follows for the pods that the manifest has had until now. */
  #caused(path: string, cause: Cause): void {
    for (const uid of this.#uids.get(path) ?? []) this.#causes.set(uid, cause);
  }

  #causesOf(uid: string): Cause[] {
    const cause = this.#causes.get(uid);
    return cause === undefined ? [] : [cause];
  }
}

function invalid(
  path: string,
  { field, message }: ManifestReport['errors'][number],
  more: number,
): Parameters<NodeEvents['record']>[0] {
  const what = `${path}: ${field === undefined ? '' : `${field}: `}${message.replace(`${path}: `, '')}`;
  return { type: 'Warning', reason: 'InvalidManifest', message: more === 0 ? what : `${what} (and ${more} more)` };
}
