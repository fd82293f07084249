import { type Cluster, type JsonObject, type SeenEvent, pathOf } from '@kubus/kube-fixture';
import { parse } from 'yaml';
import { type ToldEvent, eventRecord, runtimeRecord, statusRecord } from './pod-record.ts';
import { type RecordException, recordDifferences } from './record-diff.ts';
import type { RecordScope } from './record-scrub.ts';
import type { Scenario } from './scenario.ts';
import type { TestNode } from './test-node.ts';

/** The folder of the host that scenarios mount. */
const HOST_FOLDER = '/tmp/kubus-scenario';

/** Where Kubus differs from the reference on purpose. */
const exceptions: readonly RecordException[] = [
  {
    path: '.status.resources.limits',
    golden: { memory: '9007199254740988Ki' },
    reason:
      'What cgroup v1 says of a pod without a memory limit, read back as if it were one; the reference shows it or not, depending on when it made the status.',
  },
];

/** A node of a cluster on which scenarios are played. */
export interface ScenarioStage {
  readonly api: Cluster;
  /** The cluster has no controllers, which would make service accounts. */
  readonly isTestServer: boolean;
  readonly nodeName: string;
  /** A call to the node's runtime. */
  readonly cri: TestNode['cri'];
  /** The folder of the node that a scenario mounts. */
  readonly hostFolder: (scenario: string) => string;
  /** How values of this node become placeholders. */
  readonly scope: (namespace: string, folders: Readonly<Record<string, string>>) => RecordScope;
  /** Resolves when a scenario has had its time, for which the reference had so many seconds; or when it is aborted. */
  readonly settled: (seconds: number, signal: AbortSignal) => Promise<void>;
  /** Seconds of the node's clock: that of an emulated machine is not this one's. */
  readonly clock: () => Promise<number>;
  /** Milliseconds of this machine after which the deletion of a pod counts as hanging. Default: as {@link Cluster.waitGone} waits. */
  readonly hangingMs?: number;
}

/** Seconds after its grace period by which a pod is gone, on a busy machine too. */
const LATE_S = 20;

/** Makes what pods of the reference's cluster found in their environment: the Service of its API server. */
export async function prepareScenarios(api: Cluster): Promise<void> {
  const metadata = { namespace: 'default', name: 'kubernetes' };
  if ((await api.get({ kind: 'Service', ...metadata })) !== undefined) return;
  const ports = [{ name: 'https', port: 443, protocol: 'TCP' }];
  await api.create({ apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: '10.96.0.1', ports } });
}

/**
 * Runs a scenario's pod on the node until its record at the API server equals that of the reference, or until a time limit.
 * Returns the differences. The pod is removed afterwards: as the scenario defines it, else at once.
 */
export async function playScenario(stage: ScenarioStage, scenario: Scenario): Promise<string[]> {
  const { api } = stage;
  const { name, deletes, settleSeconds, golden } = scenario;
  const namespace = `s-${name}`;
  await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  if (stage.isTestServer) {
    await api.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } });
  }
  for (const { metadata, ...object } of scenario.objects) {
    await api.create({ ...object, metadata: { ...(metadata as JsonObject), namespace } });
  }
  const hostFolder = stage.hostFolder(name);
  const manifest = parse(scenario.pod.replaceAll(HOST_FOLDER, hostFolder)) as {
    metadata: JsonObject;
    spec: JsonObject;
  };
  const created = await api.create({
    ...manifest,
    metadata: { ...manifest.metadata, namespace },
    spec: { ...manifest.spec, nodeName: stage.nodeName },
  });
  const { uid } = created.metadata;
  const pod = { kind: 'Pod', namespace, name: created.metadata.name };
  const scope = stage.scope(namespace, { [HOST_FOLDER]: hostFolder });
  const events = async () => eventRecord(await toldBy(api, namespace, uid), scope);
  const readRecord = async () => ({
    status: statusRecord((await api.get(pod))?.status, scope),
    events: await events(),
  });

  // Events follow the status, which may have changed again by then: it is kept as it was when it was the reference's. Each status that
  // was written counts, also one that is no longer there when the pod is read.
  let kept: { readonly status: unknown } | undefined;
  const settled = async (event?: SeenEvent) => {
    const read = await readRecord();
    const written = event?.object.metadata.uid === uid ? statusRecord(event.object.status, scope) : read.status;
    const record = { ...read, status: written };
    const differs = (field: string) =>
      recordDifferences(golden, record, exceptions).some((line) => line.startsWith(field));
    if (kept === undefined && !differs('.status')) kept = { status: written };
    return kept === undefined || (!deletes && differs('.events')) ? undefined : { ...record, ...kept };
  };
  const changing = [pathOf({ ...pod, name: '' }), pathOf({ kind: 'Event', namespace, name: '' })];
  const limit = (signal: AbortSignal) => stage.settled(settleSeconds, signal);
  const record = (await afterChange(api, changing, settled, limit)) ?? (await readRecord());
  const runtime = await runtimeRecord(stage, uid, scope);
  if (!deletes) {
    await api.delete(pod, { gracePeriodSeconds: 0 });
    return recordDifferences(golden, { ...record, cri: runtime }, exceptions);
  }
  const began = await stage.clock();
  await api.delete(pod);
  await api.waitGone(pod, stage.hangingMs);
  const took = (await stage.clock()) - began;
  const { terminationGracePeriodSeconds: graceSeconds = 30 } = manifest.spec as {
    terminationGracePeriodSeconds?: number;
  };
  const deleted = {
    ...record,
    cri: runtime,
    events: await events(),
    deleted_within_grace: took < graceSeconds + LATE_S,
  };
  return recordDifferences(golden, deleted, exceptions);
}

/**
 * The result of `look` as soon as it is defined; called again with each change in the collections. Undefined when
 * `limit` has resolved.
 */
async function afterChange<T>(
  api: Cluster,
  collections: readonly string[],
  look: (event?: SeenEvent) => Promise<T | undefined>,
  limit: (signal: AbortSignal) => Promise<void>,
): Promise<T | undefined> {
  const watches = await Promise.all(collections.map((path) => api.watch(path)));
  const end = () => watches.forEach((watch) => watch.close());
  const done = new AbortController();
  void limit(done.signal).then(end, end);
  try {
    const next = new Map(watches.map((watch) => [watch, watch.next()]));
    let event: SeenEvent | undefined;
    for (;;) {
      const found = await look(event);
      if (found !== undefined) return found;
      const [changed, seen] = await Promise.race([...next].map(async ([watch, one]) => [watch, await one] as const));
      if (seen === undefined) return undefined;
      event = seen;
      next.set(changed, changed.next());
    }
  } finally {
    done.abort();
    end();
  }
}

/** The events about a pod that the API server has. */
async function toldBy(api: Cluster, namespace: string, uid: string): Promise<ToldEvent[]> {
  const objects = (await api.list('Event', namespace)) as unknown as (ToldEvent & {
    involvedObject: { uid: string; fieldPath?: string };
  })[];
  return objects
    .filter(({ involvedObject }) => involvedObject.uid === uid)
    .map(({ type, reason, message, involvedObject: { fieldPath } }) => ({ type, reason, message, fieldPath }));
}
