import { type CriClient, connectCri } from '@kubus/cri';
import { silentLogger, toError } from '@kubus/ports';
import { systemClock, systemIds } from '@kubus/service-kit';
import { setTimeout as wait } from 'node:timers/promises';
import { findContainerd } from './containerd-programs.ts';
import { leaveNats } from './external-nats.ts';
import { natsCaOf } from './nats-relay.ts';
import type { NodeDir } from './node-dir.ts';
import { identitiesFolder, readSettings } from './node-settings.ts';
import { type ProcessRecord, endProcesses, findProcesses } from './process-record.ts';
import { removeNode } from './remove-node.ts';

/** How long a service may take to end in order. */
const SERVICE_MS = 3_000;
/** How long the runtime may take beyond the containers' own time; then the rest is removed without it. */
const RUNTIME_MS = 15_000;
/** Pods that are ended at once. */
const PODS_AT_ONCE = 8;

/**
 * Takes a private node down, whatever state it is in: first those who would start things again, then the pods in order
 * (as long as the runtime and cni-bridge can do it), then everything that is left. Harmless when there is no such node.
 *
 * A NATS server that is not the node's own loses the node's streams. To be called in the machine's network, where it is.
 *
 * @param options.onProblem told what stays outside of the node because it can not be reached.
 */
export async function takeDown(
  dir: NodeDir,
  options: { graceSeconds: number; onStep?: (what: string) => void; onProblem?: (what: string) => void },
): Promise<void> {
  const step = options.onStep ?? (() => undefined);
  const processes = () => findProcesses(dir.root, dir.processes);
  step('stopping the services');
  // The launcher first: it would start the others again. cni-bridge takes the pods' network down, so it stays.
  for (const wanted of [isLauncher, isStarter]) await endProcesses((await processes()).filter(wanted), SERVICE_MS);
  const left = await processes();
  if (left.some(({ what }) => what === 'containerd') && left.some(({ what }) => what === 'cni-bridge-0')) {
    step('stopping the pods');
    await removePods(dir, options.graceSeconds);
  }
  const settings = await readSettings(dir);
  const { nats } = settings ?? {};
  if (settings !== undefined && nats !== undefined) {
    step(`removing the streams of the node from ${nats}`);
    const use = { url: nats, ca: natsCaOf(dir, settings), node: dir.node, identities: identitiesFolder(dir) };
    await leaveNats(use).catch((error: unknown) => {
      options.onProblem?.(`the streams of node ${dir.node} stay where they are: ${toError(error).message}`);
    });
  }
  step('removing the node');
  const runc = await findContainerd().then(
    (programs) => programs.runc,
    () => undefined,
  );
  await removeNode(dir, runc);
}

function isLauncher({ what }: ProcessRecord): boolean {
  return what === 'launcher';
}

function isStarter({ what }: ProcessRecord): boolean {
  return /-\d+$/.test(what) && what !== 'cni-bridge-0';
}

/** Stops and removes every pod through the runtime, as far as it can in the time that there is. */
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
