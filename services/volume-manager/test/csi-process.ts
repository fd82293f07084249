// The volume manager in a process of its own, on a bus within it, with pods that have one volume of a CSI driver each.
// It can be halted for each pod at another change; when all pods are halted or done, it ends with SIGKILL.
import type { Pod } from '@kubus/contracts';
import { CsiNode as DriverCalls } from '@kubus/node-plugins';
import { type RecordStore, silentLogger } from '@kubus/ports';
import { FileRecordStore, systemClock } from '@kubus/service-kit';
import { AsyncLocalStorage } from 'node:async_hooks';
import processes, { type ChildProcess, type SpawnOptions } from 'node:child_process';
import { EventEmitter } from 'node:events';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { PassThrough } from 'node:stream';
import { CsiNode, DRIVER, podOf } from './csi-node.ts';
import { podWith } from './scripted-node.ts';

export type CsiKind = 'files' | 'device' | 'inline';

export interface CsiPod {
  readonly uid: string;
  readonly kind: CsiKind;
  /** How many changes are made for the pod before the one at which it is halted. */
  readonly changes: number;
}

/** The configuration of the process, as JSON in its only argument. */
export interface CsiSetup {
  readonly dir: string;
  readonly records: string;
  /** `make`: the pods are desired. `remove`: their workers have stopped them. Other pods are not published. */
  readonly goal: 'make' | 'remove';
  readonly pods: readonly CsiPod[];
  /** Without this the process ends by itself when all pods are done. */
  readonly killed: boolean;
}

const { dir, records, goal, pods, killed } = JSON.parse(process.argv[2] ?? '') as CsiSetup;

const ofPod = new AsyncLocalStorage<string>();
const left = new Map(pods.map(({ uid, changes }) => [uid, changes]));
const halted = new Set<string>();
const removed = new Set<string>();
const csi = new CsiNode(systemClock, dir);

/** Whether the next change is made. */
function isMade(): boolean {
  const uid = ofPod.getStore();
  if (!killed || uid === undefined) return true;
  const changes = left.get(uid) ?? 0;
  left.set(uid, changes - 1);
  if (changes > 0) return true;
  halted.add(uid);
  csi.node.look();
  return false;
}

/** Everything that waits for a halted change waits forever. */
const waiting: unknown[] = [];
const never = <T>(): Promise<T> => new Promise((resolve) => waiting.push(resolve));
const change = <T>(action: () => Promise<T>): Promise<T> => (isMade() ? action() : never());

type Action = (...args: unknown[]) => Promise<unknown>;

/** Each call of one of the methods is a change; with `after`, the arrival of its answer counts as another one. */
function count(
  target: object,
  names: readonly string[],
  options: { only?: (args: unknown[]) => boolean; after?: boolean },
) {
  const { only = () => true, after = false } = options;
  for (const name of names) {
    const real = Reflect.get(target, name) as Action;
    const counted = async function (this: unknown, ...args: unknown[]) {
      if (!only(args)) return real.apply(this, args);
      const result = await change(() => real.apply(this, args));
      return after ? change(() => Promise.resolve(result)) : result;
    };
    Reflect.set(target, name, counted);
  }
}

count(files, ['mkdir', 'rename', 'rm', 'rmdir', 'symlink', 'unlink'], {});
count(files, ['open'], { only: ([, flags]) => flags === 'w' || flags === 'a' });
count(DriverCalls.prototype, ['stage', 'publish', 'unpublish', 'unstage'], { after: true });
const { spawn } = processes;
/** A program that never ends, in place of mount(8) and umount(8). */
const hanging = () =>
  Object.assign(new EventEmitter(), {
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  }) as unknown as ChildProcess;
Reflect.set(processes, 'spawn', (program: string, args: string[], options: SpawnOptions) =>
  isMade() ? spawn(program, args, options) : hanging(),
);
syncBuiltinESMExports();

const store = new FileRecordStore({ dir: records, logger: silentLogger });
const counted: RecordStore = {
  load: () => store.load(),
  keys: () => store.keys(),
  read: (key) => store.read(key),
  put: (key, value) => ofPod.run(key, () => change(() => store.put(key, value))),
  delete: async (key) => {
    await ofPod.run(key, () => change(() => store.delete(key)));
    removed.add(key);
    // This is the last change of a pod, which no fact may report.
    setImmediate(() => csi.node.look());
  },
};
csi.records = counted;
csi.between = (host) => ({
  ...host,
  make: (step, report) => ofPod.run(step.kind === 'csi' ? step.pod.uid : '', () => host.make(step, report)),
  remove: (uid) => ofPod.run(uid, () => host.remove(uid)),
});

function podFor({ uid, kind }: CsiPod): Pod {
  if (kind === 'inline') return podWith(uid, [{ name: uid, csi: { driver: DRIVER } }]);
  const volumeDevices = [{ name: uid, devicePath: '/dev/data' }];
  return podOf(uid, [uid], kind === 'device' ? { containers: [{ name: 'main', volumeDevices }] } : {});
}

csi.describe();
for (const pod of pods) {
  csi.claim(pod.uid, { volumeMode: pod.kind === 'device' ? 'Block' : 'Filesystem' });
  if (goal === 'make') csi.node.want(podFor(pod));
  else csi.node.worker(pod.uid, 'terminated');
}
await csi.start();
csi.node.complete();
const isDone = ({ uid }: CsiPod) => (goal === 'make' ? csi.node.published(uid)?.ready === true : removed.has(uid));
await csi.node.until(
  () =>
    (killed || (csi.node.manager.ready && csi.node.manager.count === pods.length)) &&
    pods.every((pod) => halted.has(pod.uid) || isDone(pod)),
);
// The bus would keep watching its facts for a while.
process.stdout.write(JSON.stringify([...halted]), () => {
  if (killed) process.kill(process.pid, 'SIGKILL');
  else process.exit(0);
});
