// The volume manager of one pod in a process of its own, on a bus within it. Prints one JSON line when it has reported
// the state that it was started for, and ends with SIGKILL at the given point.
import type { VolumeClaim } from '@kubus/contracts';
import { type RecordStore, silentLogger } from '@kubus/ports';
import { FileRecordStore, systemClock } from '@kubus/service-kit';
import { type VolumeHost, createVolumeHost } from '../src/index.ts';
import { ScriptedNode, type Volumes, podWith } from './scripted-node.ts';

/** The configuration of the process, as JSON in its only argument. */
export interface ManagerSetup {
  readonly root: string;
  readonly records: string;
  readonly volumes: Volumes;
  readonly claims: readonly VolumeClaim[];
  /** `make`: the pod is desired. `remove`: its worker has stopped it. `forget`: the pod is not published. */
  readonly goal: 'make' | 'remove' | 'forget';
  /** `before` or `after` one of: put, delete, make, remove. */
  readonly killAt?: string;
}

const setup = JSON.parse(process.argv[2] ?? '') as ManagerSetup;

/** Wraps `action` with the points before and after it at which the process may end. */
async function around<T>(name: string, action: () => Promise<T>): Promise<T> {
  const breakAt = (place: string) => {
    if (setup.killAt === place) process.kill(process.pid, 'SIGKILL');
  };
  breakAt(`before ${name}`);
  const result = await action();
  breakAt(`after ${name}`);
  return result;
}

const store = new FileRecordStore({ dir: setup.records, logger: silentLogger });
const records: RecordStore = {
  load: () => store.load(),
  keys: () => store.keys(),
  read: (key) => store.read(key),
  put: (key, value) => around('put', () => store.put(key, value)),
  delete: (key) => around('delete', () => store.delete(key)),
};
const machine = createVolumeHost({ root: setup.root, clock: systemClock, logger: silentLogger });
const host: VolumeHost = {
  ...machine,
  make: (step, report) => around(`make ${step.kind}`, () => machine.make(step, report)),
  remove: (uid) => around('remove', () => machine.remove(uid)),
};

const node = new ScriptedNode(systemClock);
for (const claim of setup.claims) node.claim(claim);
if (setup.goal === 'make') node.want(podWith('a', setup.volumes));
if (setup.goal === 'remove') node.worker('a', 'terminated');
await node.start({ root: setup.root, host, records });
node.complete();
const isDone = () => (setup.goal === 'make' ? node.published('a')?.ready === true : node.published('a') === undefined);
await node.until(() => node.completions === 1 && isDone());
await node.kill();
// The bus would keep watching its facts for a while.
process.stdout.write(JSON.stringify(node.published('a') ?? null), () => process.exit(0));
