import { callCriOnce } from '@kubus/node-images';
import { toError } from '@kubus/ports';
import * as z from 'zod';
import { LauncherError } from '../errors.ts';

/** A sandbox that a runtime lists. */
export interface UsedSandbox {
  readonly namespace: string;
  readonly name: string;
  /** Log folder of its pod; undefined: the runtime does not report it. */
  readonly logDirectory: string | undefined;
}

/**
 * The sandboxes that another agent has created, recognized by a log folder outside of the node's. This needs no records, so it holds after
 * any restart. A sandbox whose log folder the runtime does not report counts as the node's.
 *
 * @param podLogs the folder with the logs of all pods of the node
 */
export function sandboxesOfOthers(sandboxes: readonly UsedSandbox[], podLogs: string): UsedSandbox[] {
  const own = podLogs.endsWith('/') ? podLogs : `${podLogs}/`;
  return sandboxes.filter(({ logDirectory }) => logDirectory !== undefined && !logDirectory.startsWith(own));
}

/**
 * Checks that no other agent has pods in a runtime: each agent would remove the pods of the other.
 *
 * @throws LauncherError `NoRuntime` when the runtime does not answer, `RuntimeInUse` that names a pod of the other agent.
 */
export async function checkRuntimeUse(socket: string, podLogs: string): Promise<void> {
  const sandboxes = await usedSandboxes(socket).catch((cause: unknown) => {
    const message = `Cannot list the sandboxes of the runtime at ${socket}: ${toError(cause).message}`;
    throw new LauncherError('NoRuntime', message, { cause, context: { socket } });
  });
  const [first, ...more] = sandboxesOfOthers(sandboxes, podLogs);
  if (first === undefined) return;
  const further = more.length === 0 ? '' : ` and ${more.length} more`;
  const message =
    `Another agent uses the runtime at ${socket}: it has created the pod ${first.namespace}/${first.name}${further}, whose ` +
    `logs are in ${first.logDirectory}. Two agents on one runtime remove each other's pods. Give the node a runtime of ` +
    'its own, or remove those pods; KUBUS_SHARED_RUNTIME=true overrides this check';
  throw new LauncherError('RuntimeInUse', message, { context: { socket } });
}

async function usedSandboxes(socket: string): Promise<UsedSandbox[]> {
  const { items = [] } = await callCriOnce(socket, 'ListPodSandbox', {});
  const used: UsedSandbox[] = [];
  for (const { id: podSandboxId, metadata } of items) {
    // One after the other, to keep the load on the runtime low.
    const status = await callCriOnce(socket, 'PodSandboxStatus', { podSandboxId, verbose: true }).catch(unlessRemoved);
    if (status === undefined) continue;
    const { namespace = '', name = '' } = metadata ?? {};
    used.push({ namespace, name, logDirectory: logDirectoryOf(status.info?.['info']) });
  }
  return used;
}

/** Undefined for a sandbox that was removed meanwhile; rethrows any other error. */
function unlessRemoved(error: unknown): undefined {
  const notFound = 5; // google.rpc.Code
  if (error instanceof Error && 'code' in error && error.code === notFound) return undefined;
  throw error;
}

/** containerd's verbose status of a sandbox. Source: internal/cri/types SandboxInfo, whose config is CRI's PodSandboxConfig. */
const infoSchema = z.object({ config: z.object({ log_directory: z.string().min(1) }) });

function logDirectoryOf(info: string | undefined): string | undefined {
  if (info === undefined) return undefined;
  try {
    return infoSchema.safeParse(JSON.parse(info)).data?.config.log_directory;
  } catch {
    return undefined;
  }
}
