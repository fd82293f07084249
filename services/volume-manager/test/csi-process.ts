// The volume manager in a process of its own, on a bus inside of it, with pods that have one volume of a CSI driver each. It
// can be halted for each pod at another change of what is there; when all pods are halted or done, it ends with SIGKILL.
import { CsiNode as DriverCalls } from '@kubus/csi';
import type { Pod } from '@kubus/contracts';
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
  /** How many changes are made for the pod before the one that is not made any more. */
  readonly changes: number;
}

/** What the process is started with, as JSON in its only argument. */
export interface CsiSetup {
  readonly dir: string;
  readonly records: string;
  /** `make`: the pods are wanted. `remove`: their workers have stopped them. Nobody speaks of other pods. */
  readonly goal: 'make' | 'remove';
  readonly pods: readonly CsiPod[];
  /** Without this it ends when all pods are done, by itself. */
  readonly killed: boolean;
}

const { dir, records, goal, pods, killed } = JSON.parse(process.argv[2] ?? '') as CsiSetup;

const ofPod = new AsyncLocalStorage<string>();
const left = new Map(pods.map(({ uid, changes }) => [uid, changes]));
const halted = new Set<string>();
const removed = new Set<string>();
const csi = new CsiNode(systemClock, dir);

/** Whether the change that comes now is made. */
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

/** Everything that is held by what does not go on stays held. */
const waiting: unknown[] = [];
const never = <T>(): Promise<T> => new Promise((resolve) => waiting.push(resolve));
const change = <T>(action: () => Promise<T>): Promise<T> => (isMade() ? action() : never());

type Action = (...args: unknown[]) => Promise<unknown>;

/** Each call of one of the methods is a change; with `after`, that an answer has come counts as another one. */
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
/** A program that never ends: what is run are mount(8) and umount(8). */
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
    // That is the last thing of a pod, of which no fact may tell.
    setImmediate(() => csi.node.look());
  },
};
csi.records = counted;
csi.between = (host) => ({
  ...host,
  make: (step, tell) => ofPod.run(step.kind === 'csi' ? step.pod.uid : '', () => host.make(step, tell)),
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
const isDone = ({ uid }: CsiPod) => (goal === 'make' ? csi.node.told(uid)?.ready === true : removed.has(uid));
await csi.node.until(
  () =>
    (killed || (csi.node.manager.ready && csi.node.manager.count === pods.length)) &&
    pods.every((pod) => halted.has(pod.uid) || isDone(pod)),
);
// The bus would look after its facts for a while yet.
process.stdout.write(JSON.stringify([...halted]), () => {
  if (killed) process.kill(process.pid, 'SIGKILL');
  else process.exit(0);
});
