import {
  type Pod,
  type PodStatus,
  type PodStatusReport,
  type PodWork,
  type PodWorkerReport,
  podStatus,
  podWork,
  podWorker,
} from '@kubus/contracts';
import type { FactReader } from '@kubus/bus';
import type { NodeLink } from '../node/node-link.ts';
import { UserError } from '../user-error.ts';
import { type PodColumns, podColumns } from '@kubus/pod-status';

/** What the command line shows of a pod, from the facts of several services. */
export interface PodView {
  readonly uid: string;
  readonly work: PodWork;
  readonly status: PodStatus | undefined;
  readonly worker: PodWorkerReport | undefined;
}

/**
 * Whether `name` names the pod: its name, the name in its manifest (without the node's name at the end), or its UID, each with or
 * without kubectl's prefix `pod/`.
 */
export function matchesName(name: string, pod: { readonly name: string; readonly uid: string }, node: string): boolean {
  const bare = bareName(name);
  return pod.name === bare || pod.name === `${bare}-${node}` || pod.uid === bare;
}

/** The error for a pod that does not exist, in kubectl's words. */
export function notFound(name: string, namespace: string): UserError {
  return new UserError(`pods "${bareName(name)}" not found in namespace "${namespace}"`);
}

function bareName(name: string): string {
  return name.replace(/^(pods?|po)\//, '');
}

/** The node's pods, from the facts of sync-loop and pod-workers; they follow later changes. */
export class Pods {
  readonly #works: FactReader<PodWork>;
  readonly #statuses: FactReader<PodStatusReport>;
  readonly #workers: FactReader<PodWorkerReport>;

  private constructor(
    works: FactReader<PodWork>,
    statuses: FactReader<PodStatusReport>,
    workers: FactReader<PodWorkerReport>,
  ) {
    this.#works = works;
    this.#statuses = statuses;
    this.#workers = workers;
  }

  /** @param onChange called with the UID after a pod has changed. */
  static async read(link: NodeLink, onChange?: (uid: string) => void): Promise<Pods> {
    const handlers = {
      changed: ({ key }: { key: string }) => onChange?.(key),
      removed: ({ key }: { key: string }) => onChange?.(key),
    };
    const [works, statuses, workers] = await Promise.all([
      link.facts(podWork, handlers),
      link.facts(podStatus, handlers),
      link.facts(podWorker, handlers),
    ]);
    return new Pods(works, statuses, workers);
  }

  /** The pod with this UID; undefined when there is none. */
  get(uid: string): PodView | undefined {
    const work = this.#works.get(uid)?.value;
    if (work === undefined) return undefined;
    return { uid, work, status: this.#statuses.get(uid)?.value.status, worker: this.#workers.get(uid)?.value };
  }

  /** Every pod of a namespace (undefined: of all namespaces), sorted by namespace and name. */
  list(namespace: string | undefined): PodView[] {
    return [...this.#works]
      .map(({ key }) => this.get(key))
      .filter((pod) => pod !== undefined)
      .filter(({ work }) => namespace === undefined || work.ref.namespace === namespace)
      .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
  }

  /** The pod with this name in a namespace, see {@link matchesName}. Throws a {@link UserError} in kubectl's words when there is none. */
  find(name: string, namespace: string, node: string): PodView {
    const found = this.list(namespace).find(({ work }) => matchesName(name, work.ref, node));
    if (found === undefined) throw notFound(name, namespace);
    return found;
  }
}

function sortKey({ work }: PodView): string {
  return `${work.ref.namespace}/${work.ref.name}`;
}

/** The pod as the Kubernetes API would show it. */
export function podDocument({ work, status }: PodView): Pod & { apiVersion: string; kind: string; status?: PodStatus } {
  const { pod, ref } = work;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...ref, ...pod?.metadata },
    spec: pod?.spec ?? { containers: [] },
    ...(status !== undefined && { status }),
  };
}

/** What kubectl shows of the pod. */
export function columnsOf({ work, status }: PodView): PodColumns {
  const isDeleted = work.work === 'kill' || work.pod?.metadata.deletionTimestamp !== undefined;
  return podColumns({ spec: work.pod?.spec, status, isDeleted });
}
