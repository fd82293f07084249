import { type CriClient, connectCri } from '@kubus/cri';
import { silentLogger, toError } from '@kubus/ports';
import { systemClock, systemIds } from '@kubus/service-kit';
import { setTimeout as wait } from 'node:timers/promises';
import { findContainerd } from '../runtime/containerd-programs.ts';
import { leaveNats } from '../nats/external-nats.ts';
import { natsCaOf } from '../nats/nats-relay.ts';
import { keepApi, removeKeptApi } from './kept-api.ts';
import type { NodeDir } from './node-dir.ts';
import { identitiesFolder, readSettings } from './node-settings.ts';
import { type ProcessRecord, endProcesses, findProcesses } from '../processes/process-record.ts';
import { removeNode } from './remove-node.ts';

/** Grace period of a service, in milliseconds. */
const SERVICE_MS = 3_000;
/** How long the runtime may take beyond the containers' grace period, in milliseconds; then the rest is removed without it. */
const RUNTIME_MS = 15_000;
/** Number of pods that are removed in parallel. */
const PODS_AT_ONCE = 8;

/**
 * Takes a private node down, whatever state it is in: ends the launcher and the services, stops the pods (if the runtime and cni-bridge are
 * running), and removes everything that is left. Harmless when there is no such node.
 *
 * Also removes the node's streams from an external NATS server. Must be called in the machine's network.
 *
 * @param options.graceSeconds grace period of the containers
 * @param options.keepsApi keeps the state of the node's own Kubernetes API for the next node of its name; otherwise also what was kept before goes
 * @param options.onStep called before each step
 * @param options.onProblem called with what could not be removed outside of the node's folders
 */
export async function takeDown(
  dir: NodeDir,
  options: {
    graceSeconds: number;
    keepsApi?: boolean;
    onStep?: (what: string) => void;
    onProblem?: (what: string) => void;
  },
): Promise<void> {
  const step = options.onStep ?? (() => undefined);
  const processes = () => findProcesses(dir.root, dir.processes);
  step('stopping the services');
  // The launcher first: it would restart the others. cni-bridge is needed to remove the pods' network.
  for (const wanted of [isLauncher, isStarter]) await endProcesses((await processes()).filter(wanted), SERVICE_MS);
  const left = await processes();
  if (left.some(({ what }) => what === 'containerd') && left.some(({ what }) => what === 'cni-bridge-0')) {
    step('stopping the pods');
    await removePods(dir, options.graceSeconds);
  }
  const settings = await readSettings(dir);
  const { nats } = settings ?? {};
  if (settings !== undefined && nats !== undefined) {
    step(`removing the node's streams from ${nats}`);
    const use = { url: nats, ca: natsCaOf(dir, settings), node: dir.node, identities: identitiesFolder(dir) };
    await leaveNats(use).catch((error: unknown) => {
      options.onProblem?.(`the streams of node ${dir.node} were not removed: ${toError(error).message}`);
    });
  }
  if (options.keepsApi === true) await keepApi(dir);
  else await removeKeptApi(dir);
  step('removing the node');
  const runc = await findContainerd().then(
    (programs) => programs.runc,
    () => undefined,
  );
  await removeNode(dir, runc, options.onProblem);
}

function isLauncher({ what }: ProcessRecord): boolean {
  return what === 'launcher';
}

function isStarter({ what }: ProcessRecord): boolean {
  return /-\d+$/.test(what) && what !== 'cni-bridge-0';
}

/** Stops and removes every pod through the runtime, as far as possible within the time limit. */
async function removePods(dir: NodeDir, graceSeconds: number): Promise<void> {
  const runtime = connectCri({
    socket: dir.socket('containerd'),
    logger: silentLogger,
    clock: systemClock,
    ids: systemIds,
  });
  try {
    const all = removeAll(runtime, graceSeconds).catch(() => undefined);
    const late = new AbortController();
    await Promise.race([all, wait(graceSeconds * 1000 + RUNTIME_MS, undefined, { signal: late.signal })]).finally(() =>
      late.abort(),
    );
  } finally {
    runtime.close();
  }
}

async function removeAll(runtime: CriClient, graceSeconds: number): Promise<void> {
  await new Promise<void>((resolve) => {
    runtime.watchConnection((connection) => {
      if (connection === 'connected') resolve();
    });
  });
  const { items = [] } = await runtime.call('ListPodSandbox', {});
  const { containers = [] } = await runtime.call('ListContainers', {
    filter: { state: { state: 'CONTAINER_RUNNING' } },
  });
  await Promise.allSettled(
    containers.map(({ id = '' }) => runtime.call('StopContainer', { containerId: id, timeout: String(graceSeconds) })),
  );
  const queue = [...items];
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const podSandboxId = next.id ?? '';
      await runtime.call('StopPodSandbox', { podSandboxId }).catch(() => undefined);
      await runtime.call('RemovePodSandbox', { podSandboxId }).catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: PODS_AT_ONCE }, worker));
}
