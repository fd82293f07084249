import { type Bus, type Cause, formatTime } from '@kubus/bus';
import { type PodRef, type StatusWrite, mirrorPod, podRefOf, statusWrite } from '@kubus/contracts';
import type { Rate } from '@kubus/flow';
import { KubeError, type KubeRequester } from '@kubus/kube';
import { mirrorOf } from '@kubus/pod';
import { failureScope, mirrorStep, podNeed } from '@kubus/pod-status';
import { type Clock, type Ids, KubusError, type Logger } from '@kubus/ports';
import { type ApiPod, ApiPods, nameOf } from './api-pods.ts';
import { NodePods } from './node-pods.ts';
import { StatusFacts } from './status-facts.ts';
import { StatusMetrics } from './status-metrics.ts';
import { type WriteError, WriteQueue } from './write-queue.ts';
import { type Answer, PodWrites, type Write } from './writes.ts';

/** How long the watch may take to report a new mirror, in milliseconds. One that it has not reported by then counts as deleted. */
const UNREPORTED_MS = 30_000;

export interface StatusManagerOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly client: KubeRequester;
  /** For writes of pods; events have a rate of their own. */
  readonly rate: Rate;
  /** Default: nothing is measured. */
  readonly metrics?: StatusMetrics | undefined;
}

/**
 * Reconciles the API server's pods of the node with the node's facts: statuses, the deletion of terminated pods, the
 * mirror pods of static pods (behaviour:pod-sources and behaviour:pod-status). What is missing is derived from the
 * current state, not from what has happened, so that after an outage or a restart each pod is written once, and
 * nothing is written that the API server already has.
 */
export class StatusManager {
  readonly #options: StatusManagerOptions;
  readonly #pods: NodePods;
  readonly #api = new ApiPods();
  readonly #facts: StatusFacts;
  readonly #queue: WriteQueue<Write>;
  readonly #writes: PodWrites;
  readonly #ending = new AbortController();
  /** By UID in the API: a patch after which the API server returned this version, still without what the patch asks for. */
  readonly #ignored = new Map<string, string>();
  /** By name: the static pod whose mirror is published. */
  readonly #mirrored = new Map<string, PodRef>();
  #ready = false;

  constructor(options: StatusManagerOptions) {
    const { bus, clock, ids, rate, client, metrics = new StatusMetrics() } = options;
    this.#options = options;
    this.#facts = new StatusFacts({ writes: bus.owner(statusWrite), mirrors: bus.owner(mirrorPod), clock });
    this.#writes = new PodWrites(client, this.#ending.signal);
    this.#queue = new WriteQueue<Write>({
      ...{ clock, ids, rate },
      plan: (name) => this.#plan(name),
      perform: (write) => this.#perform(write),
      delayed: (write) => this.#publish(write, 'waiting'),
      done: ({ kind }, tookMs) => kind === 'status' && metrics.written(tookMs),
    });
    this.#pods = new NodePods(bus, {
      changed: (name) => this.#touch(name),
      reported: (pod, cause) => {
        this.#api.reported(pod, cause);
        metrics.startups.reported(pod, clock.now());
        this.#touch(nameOf(pod.metadata), true);
      },
      deleted: (ref) => {
        this.#api.deleted(ref);
        metrics.startups.deleted(ref.uid);
        this.#ignored.delete(ref.uid);
        this.#touch(nameOf(ref), true);
      },
      allChanged: () => this.#touchAll(),
    });
    void this.#begin();
  }

  /** Whether all facts from before the start have been received. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Whether the API server does not answer, or refuses every request. */
  get suspended(): boolean {
    return this.#queue.suspended;
  }

  /** Number of names with a write that waits. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Number of pods in each state. */
  get counts(): ReadonlyMap<StatusWrite['state'], number> {
    return this.#facts.counts;
  }

  /** `metadata.resourceVersion` of a pod, if the API server has it. */
  resourceVersion(uid: string): string | undefined {
    return this.#pods.resourceVersion(uid);
  }

  /** Starts no more writes. Running ones are abandoned: the next process finds out whether they succeeded. */
  async stop(): Promise<void> {
    const stopped = this.#queue.stop();
    this.#ending.abort(new KubusError('stopped', 'status-manager is stopping'));
    await stopped;
  }

  async #begin(): Promise<void> {
    await this.#pods.present();
    this.#ready = true;
    this.#touchAll();
    this.#facts.complete();
  }

  /** With only some of the facts it would look as if much had changed. */
  #touch(name: string, news = false): void {
    if (this.#ready) this.#queue.touch(name, news);
  }

  #touchAll(): void {
    if (!this.#ready) return;
    for (const name of new Set([...this.#pods.names, ...this.#api.names])) this.#touch(name);
  }

  #plan(name: string): Write | undefined {
    const api = this.#api.at(name);
    this.#showMirror(name, api);
    for (const uid of this.#facts.uidsOf(name)) if (!this.#pods.hasFacts(uid)) this.#facts.forget(uid);
    return this.#planMirror(name, api) ?? (api && this.#planPod(api));
  }

  #planMirror(name: string, api: ApiPod | undefined): Write | undefined {
    const { node } = this.#pods;
    const current = this.#pods.current(name);
    const pod = current?.value.pod;
    const step = mirrorStep({ api: api?.pod, current: pod, claimed: this.#pods.claims(name), node });
    const causes = [...(api?.causes ?? []), ...(current === undefined ? [] : [current.cause])];
    if (step?.kind === 'create' && pod !== undefined) {
      const ref = podRefOf(pod);
      return { kind: 'createMirror', urgency: 'ready', uid: ref.uid, ref, pod: step.pod, causes };
    }
    if (step?.kind !== 'remove' || api === undefined) return undefined;
    return { kind: 'removeMirror', urgency: 'ready', uid: uidOnNode(api), ref: podRefOf(api.pod), causes };
  }

  #planPod(api: ApiPod): Write | undefined {
    const uid = uidOnNode(api);
    const { pod } = api;
    const ref = podRefOf(pod);
    const status = this.#pods.status(uid)?.value.status;
    const worker = this.#pods.worker(uid)?.value;
    const now = `${formatTime(this.#options.clock.now()).slice(0, 19)}Z`;
    const need = podNeed({ api: pod, status, worker, now });
    const causes = [...this.#pods.causes(uid), ...api.causes];
    switch (need?.kind) {
      case 'write':
        if (this.#ignored.get(ref.uid) === ignoredKey(need.patch, pod.metadata.resourceVersion)) break;
        return { kind: 'status', urgency: need.urgency, uid, ref, patch: need.patch, causes };
      case 'delete':
        return { kind: 'delete', urgency: 'deletion', uid, ref, patch: need.patch, causes };
      case 'refuse':
        this.#refuse(uid, ref, need.container, causes);
        return undefined;
      default:
        break;
    }
    // The API server has all of it.
    const state = this.#facts.stateOf(uid);
    if (status !== undefined && state !== 'written' && state !== 'deleted') {
      this.#facts.publish(uid, { ref, state: 'written', resourceVersion: pod.metadata.resourceVersion }, causes);
    }
    return undefined;
  }

  #refuse(uid: string, ref: PodRef, container: string, causes: readonly Cause[]): void {
    const error = `status not written: container ${container} has terminated for good, and would be shown as running again`;
    if (this.#facts.stateOf(uid) !== 'failing') this.#options.logger.error({ ...podFields(ref) }, error);
    this.#facts.publish(uid, { ref, state: 'failing', error }, causes);
  }

  async #perform(write: Write): Promise<WriteError | undefined> {
    const { logger } = this.#options;
    try {
      this.#answered(write, await this.#writes.perform(write));
      return undefined;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      const scope = failureScope(error, write.kind === 'createMirror');
      // Another client was faster: the watch is about to report it.
      if (scope === 'stale')
        logger.debug(
          { ...podFields(write.ref), err: error },
          'the pod has been replaced by another pod of the same name',
        );
      else if (!this.#ending.signal.aborted) {
        logger.warn({ ...podFields(write.ref), write: write.kind, err: error }, 'API write failed');
        this.#publish(write, 'failing', { error: error.message });
      }
      return { scope, error };
    }
  }

  #answered(write: Write, pod: Answer): void {
    const { ref } = write;
    if (pod === undefined) this.#api.removed(ref);
    else this.#api.answered(pod);
    if (write.kind === 'status' && pod !== undefined) {
      const { resourceVersion } = pod.metadata;
      this.#ignored.set(ref.uid, ignoredKey(write.patch, resourceVersion));
      this.#publish(write, 'written', { resourceVersion });
    } else if (write.kind === 'delete') {
      this.#publish(write, 'deleted');
    } else if (write.kind === 'createMirror' && pod !== undefined) {
      this.#expect(podRefOf(pod));
    }
  }

  /** Without this, a mirror pod that was deleted before the watch reported it would count as existing forever. */
  #expect(ref: PodRef): void {
    this.#options.clock.after(UNREPORTED_MS, () => {
      this.#api.forgetUnreported(ref);
      this.#touch(nameOf(ref));
    });
  }

  #publish(write: Write, state: StatusWrite['state'], more: Pick<StatusWrite, 'resourceVersion' | 'error'> = {}): void {
    // A mirror that has to be deleted does not concern the static pod's state.
    if (write.kind !== 'removeMirror') this.#facts.publish(write.uid, { ref: write.ref, state, ...more }, write.causes);
  }

  /** Publishes which mirror pod of a static pod exists under the name. */
  #showMirror(name: string, api: ApiPod | undefined): void {
    const uid = api && mirrorOf(api.pod);
    const before = this.#mirrored.get(name);
    if (before !== undefined && before.uid !== uid) {
      this.#facts.publishMirror(before, undefined, api?.causes ?? []);
      this.#mirrored.delete(name);
    }
    if (api === undefined || uid === undefined) return;
    const ref = { ...podRefOf(api.pod), uid };
    this.#mirrored.set(name, ref);
    this.#facts.publishMirror(ref, api.pod.metadata.uid, api.causes);
  }
}

/** UID on the node of a pod of the API server: that of the static pod if it is a mirror. */
function uidOnNode({ pod }: ApiPod): string {
  return mirrorOf(pod) ?? pod.metadata.uid;
}

/** The same patch is not sent again to a pod that has not changed since. */
function ignoredKey(patch: object, resourceVersion: string | undefined): string {
  return `${resourceVersion ?? ''} ${JSON.stringify(patch)}`;
}

function podFields({ namespace, name, uid }: PodRef) {
  return { pod: `${namespace}/${name}`, podUid: uid };
}
