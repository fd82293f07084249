import { inNetworkNamespace, apiSocket } from '@kubus/launcher';
import { type CriClient, connectCri } from '@kubus/cri';
import { apiPath, connectedQuery } from '@kubus/node-client';
import { createLogger, systemClock, systemIds } from '@kubus/service-kit';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ClusterBenchNode } from './cluster-bench-node.ts';
import { agentProcesses, cpuWithChildren } from './process-usage.ts';
import type { StreamJob, StreamServer } from './stream-client.ts';
import { median } from './subject.ts';

/** The measured streams. */
export const moved = ['exec, output', 'exec, input', 'port, from the pod', 'port, to the pod'] as const;
/** The transports by which a client reaches the node's API. */
export const ways = ['socket', 'https'] as const;

type Moved = (typeof moved)[number];
type Way = (typeof ways)[number];

/** Millions of bytes per second: directly from the runtime's streaming server, and through the node's API. */
type Rates = Readonly<Record<'direct' | Way, number>>;

/** Memory of node-api in MiB (RSS): before the first stream, and the peak during the streams. */
interface StreamMemory {
  readonly before: number;
  readonly peak: number;
}

export interface Streams {
  /** Of each stream. */
  readonly bytes: number;
  readonly rates: Readonly<Record<Moved, Rates>>;
  readonly memory: StreamMemory;
  /** Of node-api and its relays, for each GiB that passes through them; milliseconds. */
  readonly cpuPerGib: number;
}

const POD = 'streams';
const NAMESPACE = 'default';
/** TCP ports on which the pod sends without end, and receives everything. */
const PORTS = { out: 9001, in: 9002 };
const BLOCK = 64 * 1024;
const SAMPLE_MS = 50;
/** Streams of each kind; a single one has too much noise when client, runtime and pod share two cores. */
const TURNS = 3;
const SECURE_PORT = 10_250;

const client = fileURLToPath(new URL('stream-client.ts', import.meta.url));
const run = promisify(execFile);

/**
 * Measures streams out of a container and into it, with alternating transports, so that other load on the machine affects
 * all of them.
 */
export async function measureStreams(bytes: number): Promise<Streams> {
  const node = await ClusterBenchNode.start();
  const logger = createLogger({ service: 'bench', instance: 'streams', level: 'error' });
  const cri = connectCri({ socket: node.dir.socket('containerd'), logger, clock: systemClock, ids: systemIds });
  try {
    await node.create(POD);
    const measuring = new Measuring(node, cri, bytes);
    await measuring.listen();
    return await measuring.all();
  } finally {
    cri.close();
    await node.stop();
  }
}

class Measuring {
  readonly #node: ClusterBenchNode;
  readonly #cri: CriClient;
  readonly #bytes: number;
  #sandbox = '';
  #container = '';

  constructor(node: ClusterBenchNode, cri: CriClient, bytes: number) {
    this.#node = node;
    this.#cri = cri;
    this.#bytes = bytes;
  }

  /** Has the pod serve its ports. */
  async listen(): Promise<void> {
    const { containers = [] } = await this.#cri.call('ListContainers', {});
    const container = containers.find(({ labels }) => labels?.['io.kubernetes.pod.name'] === POD);
    this.#container = container?.id ?? '';
    this.#sandbox = container?.podSandboxId ?? '';
    const serve = (port: number, command: string) =>
      `nc -ll -p ${port} -e ${command} </dev/null >/dev/null 2>&1 & until netstat -ltn | grep -q :${port}; do :; done`;
    const all = `dd of=/dev/null bs=${BLOCK} count=${this.#bytes / BLOCK} iflag=fullblock; echo`;
    const script = [serve(PORTS.out, 'cat /dev/zero'), serve(PORTS.in, `sh -c "${all}"`)].join('\n');
    await this.#cri.call('ExecSync', { containerId: this.#container, cmd: ['sh', '-c', script], timeout: '10' });
  }

  async all(): Promise<Streams> {
    const pid = (await agentProcesses(this.#node.dir)).get('node-api') ?? 0;
    const cpu = await cpuWithChildren(pid);
    const before = await residentMib(pid);
    const memory = { before, peak: before };
    const sampling = setInterval(() => {
      void residentMib(pid).then((now) => (memory.peak = Math.max(memory.peak, now)));
    }, SAMPLE_MS);
    const rates: Partial<Record<Moved, Rates>> = {};
    try {
      for (const what of moved) rates[what] = await this.#rates(what);
    } finally {
      clearInterval(sampling);
    }
    const passedGib = (moved.length * ways.length * TURNS * this.#bytes) / 1024 ** 3;
    const cpuPerGib = ((await cpuWithChildren(pid)) - cpu) / passedGib;
    return { bytes: this.#bytes, rates: rates as Streams['rates'], memory, cpuPerGib };
  }

  /** The medians of several rounds. */
  async #rates(what: Moved): Promise<Rates> {
    const found: Record<keyof Rates, number[]> = { direct: [], socket: [], https: [] };
    for (let turn = 0; turn < TURNS; turn += 1) {
      found.direct.push(await this.#rate(what, undefined));
      for (const way of ways) found[way].push(await this.#rate(what, way));
    }
    return { direct: median(found.direct), socket: median(found.socket), https: median(found.https) };
  }

  /** @param way undefined: directly from the runtime */
  async #rate(what: Moved, way: Way | undefined): Promise<number> {
    const job = await this.#job(what, way);
    const flags = ['--disable-warning=ExperimentalWarning', client, JSON.stringify(job)];
    const [command, ...args] = inNetworkNamespace(this.#node.dir.networkNamespace, [process.execPath, ...flags]);
    const { stdout } = await run(command, args);
    return this.#bytes / 1e6 / (Number(stdout) / 1000);
  }

  async #job(what: Moved, way: Way | undefined): Promise<StreamJob> {
    const isCommand = what.startsWith('exec');
    const direction = what === 'exec, output' || what === 'port, from the pod' ? 'out' : 'in';
    const common = { direction, bytes: this.#bytes, ...(!isCommand && { podPort: PORTS[direction] }) } as const;
    const cmd = ['sh', '-c', direction === 'out' ? 'cat /dev/zero' : 'cat >/dev/null; echo'];
    const stdin = direction === 'in';
    if (way !== undefined) {
      const query: [string, string][] = cmd.map((word) => ['command', word]);
      const path = isCommand
        ? apiPath(['exec', NAMESPACE, POD, 'main'], [...query, ...connectedQuery({ stdin, tty: false })])
        : apiPath(['portForward', NAMESPACE, POD]);
      return { ...common, path, server: this.#server(way) };
    }
    const connected = { containerId: this.#container, cmd, stdin, stdout: true, stderr: true, tty: false };
    const { url = '' } = isCommand
      ? await this.#cri.call('Exec', connected)
      : await this.#cri.call('PortForward', { podSandboxId: this.#sandbox, port: [PORTS[direction]] });
    const { pathname, search, port } = new URL(url);
    return { ...common, path: `${pathname}${search}`, server: { port: Number(port) } };
  }

  #server(way: Way): StreamServer {
    if (way === 'socket') return { socketPath: apiSocket(this.#node.dir) };
    return { port: SECURE_PORT, token: this.#node.token };
  }
}

async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
