import { callCriOnce } from '@kubus/node-images';
import { toError } from '@kubus/ports';
import * as z from 'zod';
import { LauncherError } from '../errors.ts';

/** What a runtime knows of a sandbox. */
export interface UsedSandbox {
  readonly namespace: string;
  readonly name: string;
  /** Where its agent has the logs of its containers. Undefined: the runtime does not say. */
  readonly logDirectory: string | undefined;
}

/**
 * The sandboxes that another agent has made: their logs lie elsewhere than those of the node. That holds for as long as a
 * sandbox does, whoever has restarted since, whatever was lost of the node's own records. A sandbox of which the runtime does
 * not say it counts as the node's.
 *
 * @param podLogs the folder in which the node has the logs of all its pods
 */
export function sandboxesOfOthers(sandboxes: readonly UsedSandbox[], podLogs: string): UsedSandbox[] {
  const own = podLogs.endsWith('/') ? podLogs : `${podLogs}/`;
  return sandboxes.filter(({ logDirectory }) => logDirectory !== undefined && !logDirectory.startsWith(own));
}

/**
 * Makes sure that no other agent has pods in a runtime: each would remove the other's, which it does not know.
 *
 * @throws LauncherError `NoRuntime` when it can not be asked, `RuntimeInUse` that names a pod of the other agent.
 */
export async function checkRuntimeUse(socket: string, podLogs: string): Promise<void> {
  const sandboxes = await usedSandboxes(socket).catch((cause: unknown) => {
    const message = `The runtime at ${socket} does not say what it runs: ${toError(cause).message}`;
    throw new LauncherError('NoRuntime', message, { cause, context: { socket } });
  });
  const [first, ...more] = sandboxesOfOthers(sandboxes, podLogs);
  if (first === undefined) return;
  const further = more.length === 0 ? '' : ` and ${more.length} more`;
  const message =
    `Another agent uses the runtime at ${socket}: it has made the pod ${first.namespace}/${first.name}${further}, whose ` +
    `logs are in ${first.logDirectory}. Two agents on one runtime remove each other's pods. Give the node a runtime of ` +
    'its own, or take those pods away; KUBUS_SHARED_RUNTIME=true runs it all the same';
  throw new LauncherError('RuntimeInUse', message, { context: { socket } });
}

async function usedSandboxes(socket: string): Promise<UsedSandbox[]> {
  const { items = [] } = await callCriOnce(socket, 'ListPodSandbox', {});
  const used: UsedSandbox[] = [];
  for (const { id: podSandboxId, metadata } of items) {
    // One after the other: this runs once, and the runtime has others to serve.
    const status = await callCriOnce(socket, 'PodSandboxStatus', { podSandboxId, verbose: true }).catch(unlessGone);
    if (status === undefined) continue;
    const { namespace = '', name = '' } = metadata ?? {};
    used.push({ namespace, name, logDirectory: logDirectoryOf(status.info?.['info']) });
  }
  return used;
}

/** A sandbox that has gone meanwhile is nobody's. */
function unlessGone(error: unknown): undefined {
  const notFound = 5; // google.rpc.Code
  if (error instanceof Error && 'code' in error && error.code === notFound) return undefined;
  throw error;
}

/** containerd's account of a sandbox. Source: internal/cri/types SandboxInfo, whose config is CRI's PodSandboxConfig. */
const infoSchema = z.object({ config: z.object({ log_directory: z.string().min(1) }) });

function logDirectoryOf(info: string | undefined): string | undefined {
  if (info === undefined) return undefined;
  try {
    return infoSchema.safeParse(JSON.parse(info)).data?.config.log_directory;
  } catch {
    return undefined;
  }
}
