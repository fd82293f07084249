import type { TestCluster } from '@kubus/harness';
import { type KubeObject, isReady } from '@kubus/kube-fixture';
import { readFile } from 'node:fs/promises';
import { joinCluster } from '../agent.ts';
import type { Driver } from '../runtime-setup.ts';
import type { Stage } from './group.ts';
import { startUnit } from './start-unit.ts';

/** The guest's name, under which its node registers. */
export const NODE = 'kubus-machine';

/** What a member of a cluster has besides that. */
interface MemberOptions {
  readonly flags: readonly string[];
  /** Further fields of the configuration. */
  readonly configuration: Readonly<Record<string, unknown>>;
}

/** Starts the unit as a member of a cluster whose API server runs on the machine below. Returns its Node, which is Ready. */
export async function startMember(
  stage: Stage,
  cluster: TestCluster,
  driver: Driver,
  { flags, configuration }: MemberOptions,
): Promise<KubeObject> {
  const { guest } = stage;
  const { api } = cluster;
  const kubeconfig = await readFile(await cluster.nodeKubeconfig(NODE), 'utf8');
  await guest.reach(Number(api.url.port));
  await guest.setClock();
  await joinCluster(guest, kubeconfig, flags);
  await startUnit(stage, driver, configuration);
  return guest.until('the node is Ready', async () => {
    const found = await api.get({ kind: 'Node', name: NODE });
    return found !== undefined && isReady(found) ? found : undefined;
  });
}
