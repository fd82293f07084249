import { poll } from '@kubus/harness';
import { runCommand } from '@kubus/launcher';
import { callCriOnce } from '@kubus/node-images';
import type { Mount, NamespaceMode } from '@kubus/proto/cri';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AgentPlace, LeftContainer, LeftPod } from './left-pods.ts';

/** The part of a manifest that an agent needs to create its containers again. */
export interface LeftManifest {
  readonly spec: {
    readonly containers: readonly LeftSpec[];
    readonly initContainers?: readonly LeftSpec[];
    readonly volumes?: readonly { readonly name: string; readonly emptyDir?: { readonly medium?: string } }[];
  };
}

interface LeftSpec {
  readonly name: string;
  readonly image: string;
  readonly command: string[];
  readonly securityContext?: { readonly privileged?: boolean };
}

/** Creates the agent's root folder like the reference: a mount of its own, with shared propagation. */
export async function leaveRootFolder({ folder }: AgentPlace): Promise<void> {
  const root = join(folder, 'kubelet');
  await mkdir(root, { recursive: true });
  await runCommand(['mount', '--bind', root, root]);
  await runCommand(['mount', '--make-rshared', root]);
}

/** Creates what the reference kubelet had created for a pod: its files and mounts, its sandbox and its containers, running or ended. */
export async function leavePod(
  place: AgentPlace,
  manifest: LeftManifest,
  { sandbox, containers }: LeftPod,
): Promise<void> {
  const { socket } = place.runtime;
  const { name, namespace, attempt, labels, annotations, cgroup } = sandbox;
  const uid = labels['io.kubernetes.pod.uid'] ?? '';
  const logDirectory = join(place.folder, 'logs/pods', `${namespace}_${name}_${uid}`);
  await makeFiles(place, uid, manifest, containers);
  const options = { network: sandbox.network as NamespaceMode, pid: sandbox.pid as NamespaceMode };
  const specs = [...(manifest.spec.initContainers ?? []), ...manifest.spec.containers];
  const isPrivileged = specs.some(({ securityContext }) => securityContext?.privileged === true);
  const sandboxConfig = {
    metadata: { name, namespace, uid, attempt },
    ...(sandbox.network === 'POD' && { hostname: name }),
    logDirectory,
    labels,
    annotations,
    linux: { cgroupParent: cgroup, securityContext: { namespaceOptions: options, privileged: isPrivileged } },
  };
  const { podSandboxId = '' } = await callCriOnce(socket, 'RunPodSandbox', { config: sandboxConfig });
  for (const spec of specs) {
    for (const left of containers.filter((one) => one.name === spec.name)) {
      await mkdir(join(logDirectory, left.name), { recursive: true });
      const { containerId = '' } = await callCriOnce(socket, 'CreateContainer', {
        podSandboxId,
        sandboxConfig,
        config: {
          metadata: { name: left.name, attempt: left.attempt },
          image: { image: spec.image },
          command: spec.command,
          labels: left.labels,
          annotations: left.annotations,
          logPath: `${left.name}/${left.attempt}.log`,
          mounts: left.mounts.map((mount) => ({ ...mount, propagation: mount.propagation as Mount['propagation'] })),
          linux: {
            securityContext: { namespaceOptions: options, privileged: spec.securityContext?.privileged === true },
          },
        },
      });
      await callCriOnce(socket, 'StartContainer', { containerId });
      if (left.state === 'CONTAINER_EXITED') await exited(place, containerId);
    }
  }
  if (sandbox.state === 'SANDBOX_NOTREADY') await callCriOnce(socket, 'StopPodSandbox', { podSandboxId });
}

function exited({ runtime }: AgentPlace, containerId: string): Promise<unknown> {
  return poll(`the end of ${containerId}`, async () => {
    const { status } = await callCriOnce(runtime.socket, 'ContainerStatus', { containerId });
    return status?.state === 'CONTAINER_EXITED' || undefined;
  });
}

/** Creates the pod's files like the reference: volumes in memory are mounts, and so are mounted sub-paths. */
async function makeFiles(
  place: AgentPlace,
  uid: string,
  { spec }: LeftManifest,
  containers: readonly LeftContainer[],
): Promise<void> {
  const pod = join(place.folder, 'kubelet/pods', uid);
  for (const { name, emptyDir } of spec.volumes ?? []) {
    if (emptyDir === undefined) continue;
    const folder = join(pod, 'volumes/kubernetes.io~empty-dir', name);
    await mkdir(folder, { recursive: true });
    if (emptyDir.medium === 'Memory') await mountMemory(folder);
    await mkdir(join(pod, 'plugins/kubernetes.io~empty-dir', name), { recursive: true });
    await writeFile(join(pod, 'plugins/kubernetes.io~empty-dir', name, 'ready'), '');
  }
  for (const { hostPath } of containers.flatMap(({ mounts }) => mounts)) {
    if (!hostPath.startsWith(place.folder)) continue;
    const isFile = hostPath.endsWith('/etc-hosts') || hostPath.startsWith(join(pod, 'containers'));
    await mkdir(isFile ? dirname(hostPath) : hostPath, { recursive: true });
    if (isFile) await writeFile(hostPath, '', { mode: 0o666, flag: 'a' });
    else if (hostPath.includes('/kubernetes.io~downward-api/')) await writeFacts(hostPath);
    else if (hostPath.includes('/volume-subpaths/')) await mountPart(pod, hostPath);
  }
}

async function mountMemory(folder: string): Promise<void> {
  await runCommand(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]);
}

/** Writes files like the reference's atomic writer: into a folder of their own, to which a link leads. */
async function writeFacts(folder: string): Promise<void> {
  await mountMemory(folder);
  const version = '..2026_01_02_03_04_05.3624819426';
  await mkdir(join(folder, version));
  await writeFile(join(folder, version, 'labels'), 'app="web"\ntier="control-plane"');
  await symlink(version, join(folder, '..data'));
  await symlink('..data/labels', join(folder, 'labels'));
}

/** `volume-subpaths/<volume>/<container>/<index>` is the folder `below` of an emptyDir. */
async function mountPart(pod: string, place: string): Promise<void> {
  const [volume = ''] = place.slice(join(pod, 'volume-subpaths/').length).split('/');
  const part = join(pod, 'volumes/kubernetes.io~empty-dir', volume, 'below');
  await mkdir(part, { recursive: true });
  await runCommand(['mount', '--bind', part, place]);
}
