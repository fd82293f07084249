import { SANDBOX_CAUSE } from '@kubus/contracts';
import type { TestRuntime } from '@kubus/harness';
import { callCriOnce } from '@kubus/node-images';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The folders of an agent; they differ from machine to machine. */
export interface AgentPlace {
  readonly runtime: Pick<TestRuntime, 'socket' | 'ctr' | 'dir'>;
  /** Holds the agent's root folder `kubelet`, its `manifests` and its `logs/pods`. */
  readonly folder: string;
}

type Texts = Readonly<Record<string, string>>;

interface LeftMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readonly: boolean;
  readonly propagation: string;
}

export interface LeftContainer {
  readonly name: string;
  readonly attempt: number;
  readonly state: string;
  readonly exitCode: number;
  readonly labels: Texts;
  readonly annotations: Texts;
  readonly log: string;
  readonly mounts: readonly LeftMount[];
  /** The parent of the container's cgroup. */
  readonly cgroup: string;
}

/** What an agent creates for a pod and leaves when it ends. */
export interface LeftPod {
  readonly sandbox: {
    readonly state: string;
    readonly name: string;
    readonly namespace: string;
    readonly attempt: number;
    readonly labels: Texts;
    readonly annotations: Texts;
    readonly cgroup: string;
    readonly network: string;
    readonly pid: string;
  };
  readonly containers: readonly LeftContainer[];
  /** Folders of volumes, of mounted sub-paths and of termination logs, below the pod's own. */
  readonly folders: readonly string[];
}

/** Stands for a value that differs between machines and runs. */
const PLACEHOLDER = {
  machine: '<machine>',
  cgroup: '<cgroup>',
  uid: '<uid>',
  seen: '<seen>',
  random: '<random>',
} as const;
const SEEN = 'kubernetes.io/config.seen';

/** What exists of every pod, by the name of the pod; with {@link PLACEHOLDER}s, so that it can be compared. */
export async function readLeftPods(place: AgentPlace): Promise<Record<string, LeftPod>> {
  const { socket } = place.runtime;
  const { items = [] } = await callCriOnce(socket, 'ListPodSandbox', {});
  const pods = await Promise.all(
    items.map(async ({ id = '', metadata, state = '', labels = {}, annotations = {} }) => {
      const { uid = '', name = '', namespace = '', attempt = 0 } = metadata ?? {};
      const { status } = await callCriOnce(socket, 'PodSandboxStatus', { podSandboxId: id });
      const { network = '', pid = '' } = status?.linux?.namespaces?.options ?? {};
      const left: LeftPod = {
        sandbox: {
          ...{ state, name, namespace, attempt, labels, network, pid },
          annotations: comparable(annotations),
          cgroup: await cgroupOf(place, id),
        },
        containers: await containersIn(place, id),
        folders: await foldersOf(join(place.folder, 'kubelet/pods', uid)),
      };
      return [name, withPlaceholders(left, place, uid)] as const;
    }),
  );
  return Object.fromEntries(pods);
}

/** Removes annotations about the agent itself and about times. */
function comparable({ [SANDBOX_CAUSE]: _cause, ...annotations }: Texts): Texts {
  return annotations[SEEN] === undefined ? annotations : { ...annotations, [SEEN]: PLACEHOLDER.seen };
}

/** Replaces the placeholders by this machine's values. */
export function fillPlaceholders<T>(left: T, { folder, runtime }: AgentPlace, uid: string): T {
  const text = JSON.stringify(left)
    .replaceAll(PLACEHOLDER.machine, folder)
    .replaceAll(PLACEHOLDER.cgroup, runtime.dir.cgroupRoot)
    .replaceAll(PLACEHOLDER.uid, uid)
    .replaceAll(PLACEHOLDER.seen, '2026-01-02T03:04:05.678901234Z')
    .replaceAll(PLACEHOLDER.random, '5c1e3196');
  return JSON.parse(text) as T;
}

function withPlaceholders<T>(left: T, { folder, runtime }: AgentPlace, uid: string): T {
  const text = JSON.stringify(left)
    .replaceAll(folder, PLACEHOLDER.machine)
    .replaceAll(runtime.dir.cgroupRoot, PLACEHOLDER.cgroup)
    .replaceAll(uid, PLACEHOLDER.uid)
    .replace(/(\/containers\/[^/"]+\/)[0-9a-f]{8}"/g, `$1${PLACEHOLDER.random}"`);
  return JSON.parse(text) as T;
}

async function containersIn(place: AgentPlace, podSandboxId: string): Promise<LeftContainer[]> {
  const { socket } = place.runtime;
  const { containers = [] } = await callCriOnce(socket, 'ListContainers', { filter: { podSandboxId } });
  const read = await Promise.all(
    containers.map(async ({ id = '', metadata, labels = {}, annotations = {} }) => {
      const { status } = await callCriOnce(socket, 'ContainerStatus', { containerId: id });
      const { state = '', exitCode = 0, logPath: log = '', mounts = [] } = status ?? {};
      const { name = '', attempt = 0 } = metadata ?? {};
      return {
        ...{ name, attempt, state, exitCode, labels, annotations, log },
        mounts: mounts.map(({ containerPath = '', hostPath = '', readonly = false, propagation = '' }) => {
          return { containerPath, hostPath, readonly, propagation };
        }),
        cgroup: await cgroupOf(place, id),
      };
    }),
  );
  return read.sort((a, b) => a.name.localeCompare(b.name) || a.attempt - b.attempt);
}

async function cgroupOf({ runtime }: AgentPlace, id: string): Promise<string> {
  const info = JSON.parse(await runtime.ctr('containers', 'info', id)) as {
    Spec: { linux: { cgroupsPath: string } };
  };
  return dirname(info.Spec.linux.cgroupsPath);
}

async function foldersOf(folder: string): Promise<string[]> {
  const found: string[] = [];
  const look = async (below: string, levels: number): Promise<void> => {
    const entries = await readdir(join(folder, below), { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = join(below, entry.name);
      if (levels > 1) await look(path, levels - 1);
      else found.push(path);
    }
  };
  await look('volumes', 2);
  await look('volume-subpaths', 3);
  const containers = await readdir(join(folder, 'containers')).catch(() => []);
  return [...found, ...containers.map((name) => join('containers', name))].sort();
}
