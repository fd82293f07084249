import type { Bus, Cause, FactOwner } from '@kubus/bus';
import {
  type ManifestReport,
  type PodUpdate,
  type SourceName,
  configEvent,
  configuredSources,
  desiredPods,
  manifest,
  sourceNames,
} from '@kubus/contracts';
import type { Rate } from '@kubus/flow';
import type { Clock, Logger } from '@kubus/ports';
import { EventRecorder, type PodEvents } from '@kubus/service-kit';
import { type ConfigOutput, SourceMerge } from './source-merge.ts';

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
  const events = new EventRecorder({ bus, clock, rate: eventRate }).ofPods(configEvent);
  const output = new SourcesOnBus(bus, events);
  output.configured(sources);
  return new SourceMerge({ registered: sources, output, logger });
}

class SourcesOnBus implements ConfigOutput {
  readonly #events: PodEvents;
  readonly #pods: Readonly<Record<SourceName, FactOwner<PodUpdate>>>;
  readonly #manifests: FactOwner<ManifestReport>;
  readonly #sources: FactOwner<{ sources: SourceName[] }>;
  /** The files that were read last: the causes of the pods that follow. */
  #read: Cause[] = [];
  #published = false;

  constructor(bus: Bus, events: PodEvents) {
    this.#events = events;
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
    this.#published = true;
    this.#pods[source].put(uid, update, { pod: uid, causes: this.#read });
  }

  removed(source: SourceName, uid: string): void {
    this.#published = true;
    this.#pods[source].remove(uid, { pod: uid, causes: this.#read });
  }

  complete(source: SourceName): void {
    this.#pods[source].complete();
    if (source === 'file') this.#manifests.complete();
  }

  manifest(path: string, report: ManifestReport): void {
    if (this.#published) this.#read = [];
    this.#published = false;
    this.#read.push(this.#manifests.put(path, report));
  }

  manifestGone(path: string): void {
    this.#manifests.remove(path);
  }

  event({ pod, ...event }: Parameters<ConfigOutput['event']>[0]): void {
    this.#events.record({ ref: pod, ...event }, this.#read);
  }
}
