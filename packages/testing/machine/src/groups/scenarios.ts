import {
  SCRUBBED_NODE_IP,
  type ScenarioStage,
  TestCluster,
  playScenario,
  prepareScenarios,
  readScenarios,
} from '@kubus/harness';
import { parseQuantity, quantityUnits } from '@kubus/contracts';
import { callCriOnce } from '@kubus/node-images';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expectNone } from '../checks.ts';
import type { Guest } from '../guest.ts';
import { onGuest } from '../reference-on-guest.ts';
import { type RuntimeSetup, setUpRuntime } from '../runtime-setup.ts';
import type { Group, Stage } from './group.ts';
import { NODE, startMember } from './member.ts';

/** The factor by which the guest may take longer than the reference until a scenario has settled. */
const PATIENCE = 10;
/** Milliseconds of this machine after which a deletion counts as hanging: a busy machine emulates slowly. */
const HANGING_MS = 1_800_000;
/** Milliseconds of this machine between looks at the guest's clock. */
const LOOK_MS = 10_000;

const folder = join(import.meta.dirname, '../../../../../e2e/data/scenarios');

/** The agent as a unit and a member of a cluster whose API server runs on the machine below: what it does with the reference's scenarios. */
export function scenariosGroup(setup: RuntimeSetup): Group {
  return {
    name: `scenarios-${setup.containerd}`,
    about: `pods of an API server on containerd ${setup.containerd}.x do what the reference's did, value by value`,
    setup,
    run: async (stage) => {
      await setUpRuntime(stage.guest, setup);
      const cluster = await TestCluster.open({ approve: () => true, nodeAuthorization: true, bookmarkMs: 10_000 });
      try {
        await play(stage, setup, cluster);
      } finally {
        await cluster.close();
      }
    },
  };
}

async function play(stage: Stage, setup: RuntimeSetup, cluster: TestCluster): Promise<void> {
  const { guest, checks } = stage;
  const { api, server } = cluster;
  await guest.run(`ip address add ${SCRUBBED_NODE_IP}/32 dev lo`);
  const node = await startMember(stage, cluster, setup.driver, {
    flags: [`--node-ip=${SCRUBBED_NODE_IP}`],
    // Without the machine's own search domains.
    configuration: { clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.local', resolvConf: '' },
  });
  await prepareScenarios(api);
  const { cpu = '', memory = '' } = (node.status as { capacity?: Record<string, string> } | undefined)?.capacity ?? {};
  const capacity = parseQuantity(memory);
  if (capacity === undefined) throw new Error(`the node has no capacity of memory: "${memory}"`);
  const size = { cpus: Number(cpu), memory: quantityUnits(capacity) };
  const runtime = await guest.socket('/run/containerd/containerd.sock');
  const scenarioStage: ScenarioStage = {
    api,
    isTestServer: server !== undefined,
    nodeName: NODE,
    cri: (method, request) => callCriOnce(runtime, method, request),
    hostFolder: (name) => `/tmp/${name}`,
    scope: (namespace, folders) => ({
      node: NODE,
      namespace,
      folders: { ...folders, '<logs>': '/var/log/pods', '<root>': '/var/lib/kubelet' },
      cgroupRoot: '',
    }),
    settled: (seconds, signal) => passed(guest, seconds * PATIENCE, signal),
    clock: () => guest.uptime(),
    hangingMs: HANGING_MS,
  };
  for (const scenario of await readScenarios(folder)) {
    await checks.check(`scenario ${scenario.name}`, async () => {
      expectNone('differences', await playScenario(scenarioStage, onGuest(scenario, size)));
    });
  }
}

/** Resolves when so many seconds of the guest's clock have passed. */
async function passed(guest: Guest, seconds: number, signal: AbortSignal): Promise<void> {
  const end = (await guest.uptime()) + seconds;
  while (!signal.aborted && (await guest.uptime()) < end) {
    await wait(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}
