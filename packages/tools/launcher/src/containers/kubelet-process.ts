import { ignoring } from '@kubus/ports';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from '../errors.ts';

/** Names of processes that are a kubelet or contain one: those of MicroK8s and K3s after the kubelet's own. */
const kubelets = new Set(['kubelet', 'kubelite', 'k3s-server', 'k3s-agent']);

/**
 * Checks that no kubelet runs on the machine, of which the caller needs to see all processes. A kubelet in a container counts too.
 *
 * @param proc where procfs is mounted
 * @throws LauncherError `KubeletRuns` that names the process and what to use instead.
 */
export async function checkNoKubelet(proc = '/proc'): Promise<void> {
  const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    // proc(5), stat: the name in brackets, and the state. A process that ends meanwhile has none; one that has ended (Z) does not count.
    const stat = await ignoring(['ENOENT', 'ESRCH'], readFile(join(proc, pid, 'stat'), 'utf8'));
    const [, name = '', state] = /^\d+ \((.*)\) (.)/s.exec(stat ?? '') ?? [];
    if (!kubelets.has(name) || state === 'Z') continue;
    const message =
      `A kubelet runs on this machine: process ${pid}, ${name}. It does not count the CPU and memory of this node's pods, and both give out the same host ports. ` +
      'Use the Helm chart, whose node is a member of the kubelet’s cluster (charts/kubus/README.md), or "kubus kubelet" instead of the kubelet ' +
      '(docs/tasks/instead-of-a-kubelet.md); KUBUS_BESIDE_KUBELET=true overrides this check';
    throw new LauncherError('KubeletRuns', message, { context: { pid: Number(pid), name } });
  }
}
