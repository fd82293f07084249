import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { GuestError } from './errors.ts';
import type { Guest } from './guest.ts';
import type { Driver } from './runtime-setup.ts';

/** What runs the pods of the guest: this project, or the reference kubelet. */
export type Agent = 'kubus' | 'reference';

const MANIFESTS = '/etc/kubernetes/manifests';

/** Where the reference's binary lies on the disk of files that the guest got. */
const REFERENCE_DISK = '/dev/vdb';

const containerStatus = z.object({ name: z.string(), restartCount: z.number().optional() });

const podList = z.object({
  items: z
    .array(
      z.object({
        metadata: z.object({ name: z.string(), uid: z.string() }),
        status: z
          .object({
            phase: z.string().optional(),
            conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional(),
            containerStatuses: z.array(containerStatus).optional(),
            initContainerStatuses: z.array(containerStatus).optional(),
          })
          .optional(),
      }),
    )
    .nullish(),
});
export type RunningPod = NonNullable<z.infer<typeof podList>['items']>[number];

/** The same for both agents, and what a machine without a cluster needs. */
function configuration(driver: Driver, extra: Readonly<Record<string, unknown>>): string {
  return stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    staticPodPath: MANIFESTS,
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    cgroupDriver: driver,
    readOnlyPort: 10_255,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    ...extra,
  });
}

/**
 * Installs an agent as the unit `kubelet` and starts it: Kubus with the unit of examples/systemd as it is.
 *
 * @throws GuestError `CommandFailed` with the end of the unit's log when it does not become ready.
 */
export async function startAgent(
  guest: Guest,
  agent: Agent,
  driver: Driver,
  extra: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await guest.run(`mkdir -p ${MANIFESTS}`);
  await guest.write('/var/lib/kubelet/config.yaml', configuration(driver, extra));
  if (agent === 'kubus') {
    await guest.run('cp /opt/kubus/examples/systemd/kubelet.service /etc/systemd/system/kubelet.service');
  } else {
    await guest.run(
      `mkdir -p /opt/reference && { mountpoint -q /opt/reference || mount -o ro ${REFERENCE_DISK} /opt/reference; }`,
    );
    await guest.write(
      '/etc/systemd/system/kubelet.service',
      '[Unit]\nAfter=containerd.service\n[Service]\nExecStart=/opt/reference/kubelet --config=/var/lib/kubelet/config.yaml\n',
    );
  }
  await guest.run('systemctl daemon-reload');
  try {
    await guest.run('systemctl start kubelet');
  } catch (cause) {
    throw new GuestError('AgentFailed', `${agent} did not start: ${await agentLog(guest)}`, { cause });
  }
}

/** Has Kubus's unit start with a kubeconfig, and with these flags. To be called before {@link startAgent}. */
export async function joinCluster(guest: Guest, kubeconfig: string, flags: readonly string[]): Promise<void> {
  const file = '/var/lib/kubelet/kubeconfig';
  await guest.write(file, kubeconfig);
  const start = [
    '/opt/kubus/kubus',
    'kubelet',
    '--config=/var/lib/kubelet/config.yaml',
    `--kubeconfig=${file}`,
    ...flags,
  ];
  await guest.write(
    '/etc/systemd/system/kubelet.service.d/cluster.conf',
    `[Service]\nExecStart=\nExecStart=${start.join(' ')}\n`,
  );
}

export async function stopAgent(guest: Guest): Promise<void> {
  await guest.run('systemctl stop kubelet');
}

/** The end of the unit's log. */
async function agentLog(guest: Guest, lines = 40): Promise<string> {
  return guest.run(`journalctl --no-pager --output=cat --unit=kubelet --lines=${lines}`);
}

/** Puts manifests into the guest's folder of static pods. */
export async function addPods(guest: Guest, manifests: ReadonlyMap<string, string>): Promise<void> {
  for (const [file, text] of manifests) await guest.write(join(MANIFESTS, file), text);
}

/** The package's manifests whose cgroups are compared. */
export async function treePods(): Promise<Map<string, string>> {
  const folder = join(import.meta.dirname, '../pods');
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml')).sort();
  return new Map(
    await Promise.all(files.map(async (file) => [file, await readFile(join(folder, file), 'utf8')] as const)),
  );
}

/** The pods as the agent's read-only port shows them. */
export async function listPods(guest: Guest): Promise<readonly RunningPod[]> {
  const text = await guest.run('curl --silent --show-error --fail http://127.0.0.1:10255/pods', { seconds: 600 });
  return podList.parse(JSON.parse(text)).items ?? [];
}

function isReady({ status }: RunningPod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}

/** Returns when this many pods are Ready. */
export async function podsReady(guest: Guest, count: number): Promise<readonly RunningPod[]> {
  return guest.until(`${count} pods are Ready`, async () => {
    const pods = await listPods(guest);
    const ready = pods.filter(isReady);
    if (ready.length >= count) return pods;
    const names = pods
      .filter((pod) => !isReady(pod))
      .map(({ metadata, status }) => `${metadata.name} ${status?.phase ?? ''}`);
    throw new GuestError('NotReady', `${ready.length} Ready; not: ${names.join(', ')}`);
  });
}

/** Removes all manifests and returns when neither the agent nor the runtime has anything of the pods. */
export async function removePods(guest: Guest): Promise<void> {
  await guest.run(`rm -f ${MANIFESTS}/*`);
  await guest.until('all pods are removed', async () => {
    const containers = (await guest.run('ctr --namespace k8s.io containers list --quiet')).trim();
    if (containers !== '') throw new GuestError('ContainersLeft', `${containers.split('\n').length} containers`);
    const pods = await listPods(guest);
    if (pods.length > 0) throw new GuestError('PodsLeft', pods.map(({ metadata }) => metadata.name).join(', '));
    return true;
  });
}
