/**
 * A private containerd for tests: own folders, socket, images and network namespace. Needs root, containerd, runc, CNI
 * plugins, gcc and busybox-static on the machine. KUBUS_TEST_CONTAINERD names another containerd; its own shim and ctr
 * are taken from beside it.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { until } from './until.ts';

const run = promisify(execFile);

export const PAUSE_IMAGE = 'kubus.test/pause:1';
export const BUSYBOX_IMAGE = 'kubus.test/busybox:1';
/** The state of a socket in /proc/net/unix. */
const CONNECTED = '03';
const CNI_PLUGINS = '/usr/lib/cni';

export interface TestContainerd {
  /** Removed by stop(), with everything in it. */
  readonly folder: string;
  readonly socket: string;
  /** How many clients are connected to the socket now. */
  connections(): number;
  /** A cgroup parent for the pods of this runtime. */
  readonly cgroupParent: string;
  /** Ends containerd and starts it again on the same state; containers keep running. */
  restart(): Promise<void>;
  /** Ends containerd, but not its containers. */
  kill(): Promise<void>;
  /** Ends and removes everything, containers too. */
  stop(): Promise<void>;
}

export interface TestContainerdOptions {
  /** A wrapper of runc; it gets the arguments of runc. */
  readonly runc?: (folder: string) => string;
  /** A wrapper of the CNI plugin `ptp`; it gets its environment and stdin. */
  readonly cniPlugin?: (folder: string) => string;
}

/** Writes an executable script. */
export function executable(path: string, text: string): string {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

/** An image of one layer as an OCI archive for `ctr images import`. */
async function archiveOf(folder: string, image: string, rootfs: string, entrypoint: string[]): Promise<string> {
  const layout = mkdtempSync(join(folder, 'image-'));
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true });
  const blob = (mediaType: string, bytes: Buffer) => {
    const digest = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(layout, 'blobs/sha256', digest), bytes);
    return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
  };
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  const layerFile = `${layout}-layer.tar`;
  await run('tar', ['-C', rootfs, '--owner=0', '--group=0', '-cf', layerFile, '.']);
  const layer = blob('application/vnd.oci.image.layer.v1.tar', readFileSync(layerFile));
  const config = blob(
    'application/vnd.oci.image.config.v1+json',
    json({
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: { Entrypoint: entrypoint, Env: ['PATH=/bin'] },
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    }),
  );
  const manifestType = 'application/vnd.oci.image.manifest.v1+json';
  const manifest = blob(manifestType, json({ schemaVersion: 2, mediaType: manifestType, config, layers: [layer] }));
  const annotations = { 'io.containerd.image.name': image, 'org.opencontainers.image.ref.name': image };
  writeFileSync(join(layout, 'index.json'), json({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }));
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  const archive = `${layout}.tar`;
  await run('tar', ['-C', layout, '-cf', archive, '.']);
  return archive;
}

async function pauseArchive(folder: string): Promise<string> {
  const rootfs = join(folder, 'pause');
  mkdirSync(rootfs);
  const source = join(folder, 'pause.c');
  writeFileSync(source, '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n');
  await run('gcc', ['-static', '-Os', '-s', '-o', join(rootfs, 'pause'), source]);
  return archiveOf(folder, PAUSE_IMAGE, rootfs, ['/pause']);
}

async function busyboxArchive(folder: string): Promise<string> {
  const rootfs = join(folder, 'busybox');
  mkdirSync(join(rootfs, 'bin'), { recursive: true });
  cpSync('/bin/busybox', join(rootfs, 'bin/busybox'));
  for (const applet of ['sh', 'sleep', 'head', 'tail', 'true']) {
    symlinkSync('busybox', join(rootfs, 'bin', applet));
  }
  return archiveOf(folder, BUSYBOX_IMAGE, rootfs, ['/bin/sh']);
}

function configText(folder: string, runc: string): string {
  const path = (name: string) => JSON.stringify(join(folder, name));
  const cri = '[plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = ${path('root')}
state = ${path('state')}
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.nri.v1.nri"]
[grpc]
  address = ${path('containerd.sock')}
[ttrpc]
  address = ${path('containerd.sock.ttrpc')}
[plugins."io.containerd.internal.v1.opt"]
  path = ${path('opt')}
${cri}]
  sandbox_image = "${PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
${cri}.cni]
  bin_dir = ${path('cni-bin')}
  conf_dir = ${path('cni-conf')}
${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
${cri}.containerd.runtimes.runc.options]
  BinaryName = ${JSON.stringify(runc)}
`;
}

function writeNetwork(folder: string, plugin: string | undefined): void {
  mkdirSync(join(folder, 'cni-bin'));
  mkdirSync(join(folder, 'cni-conf'));
  for (const name of readdirSync(CNI_PLUGINS)) {
    const taken = name === 'ptp' && plugin !== undefined ? plugin : join(CNI_PLUGINS, name);
    symlinkSync(taken, join(folder, 'cni-bin', name));
  }
  const ipam = { type: 'host-local', subnet: '10.234.0.0/16', dataDir: join(folder, 'ipam') };
  const plugins = [{ type: 'ptp', ipMasq: false, ipam }];
  writeFileSync(
    join(folder, 'cni-conf/10-test.conflist'),
    JSON.stringify({ cniVersion: '0.4.0', name: 'test', plugins }),
  );
}

/** The processes with a path in our folder among their arguments: shims, wrappers and those started by tests. */
function processesOf(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
          .split('\0')
          .some((argument) => argument.startsWith(`${folder}/`));
      } catch {
        return false; // It ended meanwhile.
      }
    })
    .map(Number);
}

function mountsUnder(folder: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${folder}/`))
    .reverse();
}

function cgroupsOf(parent: string): string[] {
  return readdirSync('/sys/fs/cgroup')
    .map((controller) => join('/sys/fs/cgroup', controller, parent))
    .concat(join('/sys/fs/cgroup', parent))
    .filter((path) => {
      try {
        readdirSync(path);
        return true;
      } catch {
        return false;
      }
    });
}

/** Kills the processes in one of our cgroups and removes it with its children. */
async function removeCgroup(path: string): Promise<void> {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) {
      await removeCgroup(join(path, entry.name));
    }
  }
  await until(`${path} to be empty`, () => {
    const pids = readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean);
    pids.forEach((pid) => kill(Number(pid)));
    return pids.length === 0;
  });
  rmdirSync(path);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

/** Connected sockets at this path. They are counted in the network namespace of the client, which is that of the test. */
function connectionsTo(socket: string): number {
  const lines = readFileSync('/proc/self/net/unix', 'utf8').split('\n');
  return lines.filter((line) => line.endsWith(` ${socket}`) && line.split(/\s+/)[5] === CONNECTED).length;
}

/** Starts containerd and waits until it has booted; its log goes to `containerd.log`. */
async function boot(folder: string, containerd: string): Promise<ChildProcess> {
  const args = [`--net=${join(folder, 'netns')}`, containerd, '-c', join(folder, 'config.toml')];
  const child = spawn('nsenter', args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PATH: `${dirname(containerd)}:${process.env['PATH'] ?? ''}` },
  });
  const log: string[] = [];
  const lines = createInterface({ input: child.stderr });
  const booted = new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      log.push(line);
      if (line.includes('containerd successfully booted')) {
        resolve();
      }
    });
    child.once('exit', () => reject(new Error(`containerd ended:\n${log.slice(-20).join('\n')}`)));
    child.once('error', reject);
  });
  await booted;
  lines.on('line', (line) => writeFileSync(join(folder, 'containerd.log'), `${line}\n`, { flag: 'a' }));
  return child;
}

/** Absolute, because `ctr` is started from beside it. */
async function pathOf(program: string): Promise<string> {
  return (await run('sh', ['-c', `command -v ${program}`])).stdout.trim();
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}

export async function startContainerd(options: TestContainerdOptions = {}): Promise<TestContainerd> {
  const containerd = process.env['KUBUS_TEST_CONTAINERD'] ?? (await pathOf('containerd'));
  const folder = mkdtempSync(join(tmpdir(), 'kubus-cri-'));
  const socket = join(folder, 'containerd.sock');
  const cgroupParent = `/${folder.split('/').at(-1) ?? ''}`;
  const netns = join(folder, 'netns');
  let child: ChildProcess | undefined;

  const stop = async () => {
    if (child !== undefined) {
      await end(child, 'SIGKILL');
    }
    processesOf(folder).forEach(kill);
    for (const cgroup of cgroupsOf(cgroupParent)) {
      await removeCgroup(cgroup);
    }
    for (const point of mountsUnder(folder)) {
      await run('umount', ['-l', point]);
    }
    rmSync(folder, { recursive: true, force: true });
  };

  try {
    writeFileSync(netns, '');
    await run('unshare', [`--net=${netns}`, 'ip', 'link', 'set', 'lo', 'up']);
    writeNetwork(folder, options.cniPlugin?.(folder));
    writeFileSync(join(folder, 'config.toml'), configText(folder, options.runc?.(folder) ?? '/usr/sbin/runc'));
    const archives = await Promise.all([pauseArchive(folder), busyboxArchive(folder)]);
    child = await boot(folder, containerd);
    for (const archive of archives) {
      await run(join(dirname(containerd), 'ctr'), ['-a', socket, '-n', 'k8s.io', 'images', 'import', archive]);
    }
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    folder,
    socket,
    cgroupParent,
    connections: () => connectionsTo(socket),
    kill: () => (child === undefined ? Promise.resolve() : end(child, 'SIGKILL')),
    restart: async () => {
      if (child !== undefined) {
        await end(child, 'SIGKILL');
      }
      child = await boot(folder, containerd);
    },
    stop,
  };
}
