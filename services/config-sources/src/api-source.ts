import type { ManifestReport, Pod } from '@kubus/contracts';
import { type KubeWatcher, Reflector, kubePath } from '@kubus/kube';
import { type Clock, type Logger, toError } from '@kubus/ports';
import { type ApiPod, readApiPod } from './api-pod.ts';

interface ApiSourceOutput {
  /** Takes the whole set of pods that are bound to the node. */
  set(pods: readonly Pod[]): void;
  changed(pod: Pod): void;
  removed(uid: string): void;
  /** Reports a pod that cannot be read. */
  manifest(report: ManifestReport): void;
  manifestGone(path: string): void;
}

export interface ApiSourceOptions {
  readonly node: string;
  /** Resolves when the API server can be used: the Node object exists, and there are credentials. */
  readonly connect: () => Promise<KubeWatcher>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Random number between 0 and 1. */
  readonly random: () => number;
  /** The pod as it was last passed on. */
  readonly held: (uid: string) => Pod | undefined;
  readonly output: ApiSourceOutput;
}

/**
 * The pods that the API server has bound to this node. Each list is a whole set, each event of the watch one pod;
 * while the server cannot be reached nothing is removed. A pod that cannot be read keeps its last version, and is
 * reported like an invalid manifest.
 */
export class ApiSource {
  readonly #options: ApiSourceOptions;
  /** By UID of a pod that cannot be read: the name under which it is reported. */
  readonly #invalid = new Map<string, string>();
  #reflector: Reflector<ApiPod> | undefined;
  #stopped = false;

  constructor(options: ApiSourceOptions) {
    this.#options = options;
  }

  /** Starts as soon as the API server can be used. */
  start(): void {
    const { connect, logger } = this.#options;
    connect().then(
      (client) => this.#follow(client),
      (thrown: unknown) => {
        if (!this.#stopped)
          logger.error({ err: toError(thrown) }, 'cannot reach the API server; its pods stay as they are');
      },
    );
  }

  stop(): void {
    this.#stopped = true;
    this.#reflector?.stop();
  }

  #follow(client: KubeWatcher): void {
    if (this.#stopped) return;
    const { node, clock, logger, random } = this.#options;
    this.#reflector = new Reflector({
      client,
      path: kubePath({ version: 'v1', resource: 'pods' }),
      query: { fieldSelector: `spec.nodeName=${node}` },
      parse: (object) => readApiPod(object, this.#now()),
      clock,
      logger,
      random,
      listener: {
        replaced: (pods) => this.#replaced(pods),
        changed: (pod) => this.#changed(pod),
        removed: ({ ref }) => this.#removed(ref.uid),
      },
    });
    this.#reflector.start();
  }

  #replaced(pods: readonly ApiPod[]): void {
    const { held, output } = this.#options;
    const present = new Set(pods.map(({ ref }) => ref.uid));
    for (const uid of this.#invalid.keys()) if (!present.has(uid)) this.#clear(uid);
    for (const pod of pods) this.#report(pod);
    output.set(pods.flatMap(({ ref, pod }) => pod ?? held(ref.uid) ?? []));
  }

  #changed(pod: ApiPod): void {
    this.#report(pod);
    if (pod.pod !== undefined) this.#options.output.changed(pod.pod);
  }

  #removed(uid: string): void {
    this.#clear(uid);
    this.#options.output.removed(uid);
  }

  #report({ ref, errors }: ApiPod): void {
    if (errors.length === 0) {
      this.#clear(ref.uid);
      return;
    }
    const { output, logger, held } = this.#options;
    const path = `api:${ref.namespace}/${ref.name}`;
    this.#invalid.set(ref.uid, path);
    logger.warn({ pod: `${ref.namespace}/${ref.name}`, podUid: ref.uid, errors }, 'invalid pod from the API server');
    const kept = held(ref.uid) === undefined ? [] : [ref];
    output.manifest({ path, readAt: this.#now(), pods: kept, errors, warnings: [] });
  }

  #clear(uid: string): void {
    const path = this.#invalid.get(uid);
    if (path === undefined) return;
    this.#invalid.delete(uid);
    this.#options.output.manifestGone(path);
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}
