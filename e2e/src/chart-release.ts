import { randomBytes } from 'node:crypto';
import { type Manifest, type Values, chartFolder, manifestOf, readChart, renderChart } from '@kubus/chart';
import {
  type Json,
  type JsonObject,
  type KubeObject,
  type ObjectName,
  type TestApiServer,
  isReady,
} from '@kubus/kube-fixture';
import * as z from 'zod';
import type { ClusterMachine } from './cluster-machine.ts';
import { type ChartRule, chartRules } from './chart-rules.ts';

/** The namespace of all releases. */
export const NAMESPACE = 'kubus';
/** Kinds of the chart's objects that the test API server has to store. */
const STORED = ['ConfigMap', 'ServiceAccount'];

const podSchema = z.object({ metadata: z.looseObject({}), spec: z.looseObject({}) });
const templateSchema = z.object({ template: podSchema });

const stateSchema = z.object({
  running: z.unknown().optional(),
  terminated: z.object({ exitCode: z.int() }).optional(),
});
const containerSchema = z.object({
  name: z.string(),
  containerID: z.string().default(''),
  restartCount: z.int(),
  state: stateSchema,
  lastState: stateSchema.optional(),
});
const statusSchema = z.object({
  containerStatuses: z.array(containerSchema).default([]),
  initContainerStatuses: z.array(containerSchema).default([]),
});

/** The status of a container of a release's pod. */
export interface ReleaseContainer {
  readonly name: string;
  readonly id: string;
  readonly running: boolean;
  readonly restarts: number;
  /** Of its last run, when it has ended. */
  readonly exitCode: number | undefined;
}

/** A pod of a release. */
export class ReleasePod {
  readonly name: string;
  readonly #api: TestApiServer;

  constructor(api: TestApiServer, name: string) {
    this.#api = api;
    this.name = name;
  }

  get #object(): ObjectName {
    return { kind: 'Pod', namespace: NAMESPACE, name: this.name };
  }

  waitFor(is: (pod: KubeObject) => boolean): Promise<KubeObject> {
    return this.#api.waitFor(this.#object, is);
  }

  /** The containers that run for as long as the pod does. */
  async containers(): Promise<ReleaseContainer[]> {
    return containersOf(await this.waitFor(isReady)).filter(({ running }) => running);
  }

  /** Resolves with a container of the pod once `is` holds. */
  async waitForContainer(name: string, is: (container: ReleaseContainer) => boolean): Promise<ReleaseContainer> {
    const find = (pod: KubeObject) => containersOf(pod).find((one) => one.name === name && is(one));
    const found = find(await this.waitFor((pod) => find(pod) !== undefined));
    if (found === undefined) throw new Error(`${this.name} has no container ${name}`);
    return found;
  }

  /** Deletes the pod, and waits until it is deleted. */
  async remove(): Promise<void> {
    this.#api.delete(this.#object);
    await this.#api.waitGone(this.#object);
  }
}

function containersOf({ status }: KubeObject): ReleaseContainer[] {
  const { initContainerStatuses, containerStatuses } = statusSchema.parse(status);
  return [...initContainerStatuses, ...containerStatuses].map(
    ({ name, containerID, restartCount, state, lastState }) => ({
      name,
      id: containerID,
      running: state.running !== undefined,
      restarts: restartCount,
      exitCode: (state.terminated ?? lastState?.terminated)?.exitCode,
    }),
  );
}

/** A release of the chart on one machine: the objects that Helm creates, and the pods that the DaemonSet controller creates. */
export class ChartRelease {
  readonly name: string;
  readonly #machine: ClusterMachine;
  #manifests: readonly Manifest[] = [];

  constructor(machine: ClusterMachine, name: string) {
    this.#machine = machine;
    this.name = name;
  }

  /** The user name of the chart's ServiceAccount. */
  get account(): string {
    const account = this.#manifests.find(({ kind }) => kind === 'ServiceAccount');
    return `system:serviceaccount:${NAMESPACE}:${account?.metadata.name ?? ''}`;
  }

  /** The rights of the ServiceAccount. */
  get rules(): readonly ChartRule[] {
    return chartRules(this.#manifests);
  }

  /** `helm upgrade --install`, without the pods. */
  async apply(values: Values): Promise<void> {
    const chart = await readChart(chartFolder);
    const { manifests } = await renderChart(chart, { values, release: this.name, namespace: NAMESPACE });
    for (const manifest of manifests.filter(({ kind }) => STORED.includes(kind)))
      putObject(this.#machine.api, manifest);
    this.#manifests = manifests;
  }

  /** Creates a pod of the DaemonSet, as its controller does for the machine. */
  createPod(): ReleasePod {
    return this.#create(templateSchema.parse(this.#manifest('DaemonSet')['spec']).template);
  }

  /** Creates a pod of the DaemonSet with which a release cleans up, as its controller does once `helm uninstall` has ended the others. */
  createUninstallPod(): ReleasePod {
    return this.#create(templateSchema.parse(this.#manifest('DaemonSet', '-uninstall')['spec']).template);
  }

  /** Creates the pod of `helm test`. */
  createTestPod(): ReleasePod {
    return this.#create(podSchema.parse(this.#manifest('Pod')));
  }

  #create({ metadata, spec }: z.infer<typeof podSchema>): ReleasePod {
    const { api, name: nodeName } = this.#machine;
    const name = `${this.name}-${randomBytes(3).toString('hex')}`;
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name, namespace: NAMESPACE } };
    api.create({ ...pod, spec: { ...spec, nodeName } });
    return new ReleasePod(api, name);
  }

  /** @param end of its name; default: any */
  #manifest(kind: string, end = ''): Manifest {
    const found = this.#manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name.endsWith(end));
    if (found === undefined) throw new Error(`the chart has no ${kind}`);
    return found;
  }
}

/** `kubectl apply`, as far as tests need it. */
export function putObject(api: TestApiServer, object: object): void {
  const { kind, metadata } = manifestOf(object);
  const name = {
    kind,
    name: metadata.name,
    ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
  };
  if (api.get(name) === undefined) api.create(object as JsonObject);
  else api.patch(name, object as Json);
}
