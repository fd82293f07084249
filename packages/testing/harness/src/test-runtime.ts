import { once } from 'node:events';
import { readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Command,
  type ContainerdPrograms,
  type NodeDir,
  compileNatives,
  createNetworkNamespace,
  createNodeDir,
  findCniPlugins,
  findContainerd,
  inNetworkNamespace,
  POD_CIDR,
  podNetwork,
  runCommand,
  startContainerd,
} from '@kubus/launcher';
import { type BuiltImage, importImages } from '@kubus/node-images';
import { EventLog } from './event-log.ts';
import { expectEmpty, knownContainers, takeNodeSnapshot } from './leaks.ts';
import { type RunningCommand, startCommand } from './kubus-command.ts';
import { testCache, testImages } from './test-cache.ts';
import { makeTestFolder, removeTestFolder, sweepTestFolders, testNode } from './test-folder.ts';

export interface RuntimeOptions {
  /** Imported besides busybox and pause. Default: none. */
  readonly images?: readonly BuiltImage[];
  /**
   * Fills the node's CNI folders before containerd starts. Default: containerd itself runs the machine's plugins, with the
   * pod network 10.88.0.0/16, for the runtime handler of Kubus and for the default one.
   */
  readonly prepareCni?: (dir: NodeDir) => Promise<void>;
}

/** A private containerd in a network namespace of its own, invisible to the rest of the machine. */
export interface TestRuntime {
  /** Its folders. Cgroups of pods must be below `dir.cgroupRoot`. */
  readonly dir: NodeDir;
  /** The CRI socket. */
  readonly socket: string;
  readonly programs: ContainerdPrograms;
  readonly events: EventLog;
  /** `command` as one that runs in the runtime's network namespace. */
  inside(command: Command): Command;
  /** Makes a TCP port of this process's own loopback reachable in the runtime's network, under the same number, until it stops. */
  reach(port: number): Promise<void>;
  /** Runs `ctr` in the namespace of CRI and returns its output. */
  ctr(...args: string[]): Promise<string>;
  /** Stops containerd cleanly and starts it again; its pods keep running. */
  restart(): Promise<void>;
  /**
   * Removes the runtime with its pods and everything else that this process and the runtime have created for it.
   *
   * @throws HarnessError `Leak` that lists what is left behind.
   */
  stop(): Promise<void>;
}

/**
 * Starts a private containerd: the machine's, or that in the environment variable KUBUS_TEST_CONTAINERD (its binary, or
 * a folder). Any number of them may run at once. First removes leftovers of killed test
 * processes.
 */
export async function startRuntime(options: RuntimeOptions = {}): Promise<TestRuntime> {
  await sweepTestFolders();
  const programs = await findContainerd(process.env['KUBUS_TEST_CONTAINERD']);
  const folder = await makeTestFolder();
  try {
    return await startIn(folder, programs, options);
  } catch (error) {
    await removeTestFolder(folder, programs.runc);
    throw error;
  }
}

async function startIn(folder: string, programs: ContainerdPrograms, options: RuntimeOptions): Promise<TestRuntime> {
  const dir = testNode(folder);
  await createNodeDir(dir);
  await createNetworkNamespace(dir.networkNamespace);
  await (options.prepareCni ?? useMachinePlugins)(dir);
  const images = [...(await testImages()), ...(options.images ?? [])];
  let containerd = await startContainerd({ dir, programs });
  const { socket } = containerd;
  const events = await EventLog.record({ dir, socket, ctr: programs.ctr });
  try {
    await importImages({ containerdSocket: socket, images, ctr: programs.ctr });
  } catch (error) {
    await events.stop();
    throw error;
  }
  const relays: RunningCommand[] = [];
  const inside = (command: Command) => inNetworkNamespace(dir.networkNamespace, command);
  return {
    dir,
    socket,
    programs,
    events,
    inside,
    reach: async (port) => {
      const { portRelay } = await compileNatives(testCache());
      const own = `/proc/${process.pid}/ns/net`;
      const [program, ...args] = inside([portRelay, String(port), own, '127.0.0.1', String(port)]);
      const relay = startCommand(program, args, {});
      relays.push(relay);
      // It prints a line once it listens.
      await once(relay.child.stderr, 'data');
    },
    ctr: (...args) => runCommand([programs.ctr, '--address', socket, '--namespace', 'k8s.io', ...args]),
    restart: async () => {
      await containerd.stop();
      containerd = await startContainerd({ dir, programs });
      await events.settled();
    },
    stop: async () => {
      for (const relay of relays) await relay.end();
      await events.stop();
      await removeTestFolder(folder, programs.runc);
      expectEmpty(await takeNodeSnapshot(dir, knownContainers(events), [folder]), 'The test runtime');
    },
  };
}

/** Links all plugins of the machine into the one folder that containerd reads. */
async function useMachinePlugins(dir: NodeDir): Promise<void> {
  const plugins = await findCniPlugins();
  for (const plugin of await readdir(plugins)) {
    await symlink(join(plugins, plugin), join(dir.cni.bin, plugin));
  }
  const network = podNetwork({ dataDir: dir.cni.data, subnet: POD_CIDR });
  for (const folder of [dir.cni.handlerConf, dir.cni.defaultConf]) {
    await writeFile(join(folder, '10-pods.conflist'), network);
  }
}
