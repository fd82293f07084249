import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Command, removeCgroupRoot } from '@kubus/launcher';
import { HarnessError } from '../errors.ts';
import { poll } from '../poll.ts';
import type { DockerPrograms } from './docker-programs.ts';

const run = promisify(execFile);

/**
 * The engine's own "machine": namespaces for processes, mounts and network, with `/run`, `/var/lib`, `/var/log` and
 * `/opt` of its
 * own. Mount propagation is shared, as on a machine with systemd. `$1` is the folder, `$2` the cgroup.
 */
const machine = `set -e
mount -t proc proc /proc
mount --make-rshared /
mkdir -p "$1/lib"
mount --bind "$1/lib" /var/lib
for folder in /run /opt /var/log; do mount -t tmpfs tmpfs $folder; done
for folder in /var/lib /var/log /run /opt; do mount --make-rshared $folder; done
ip link set lo up
exec dockerd --host "unix://$1/docker.sock" --data-root "$1/data" --exec-root /run/docker --pidfile /run/docker.pid \\
  --iptables=false --ip6tables=false --bridge=none --cgroup-parent="$2"`;

/** A Docker engine for one test, isolated from the machine's network. */
export class DockerEngine {
  readonly #programs: DockerPrograms;
  readonly #folder: string;
  readonly #cgroup: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #init = 0;

  /**
   * @param folder the test's own folder; its last part names the engine's cgroup
   * @throws HarnessError `NoDocker` with the end of the engine's log when it cannot run on this machine.
   */
  static async start(programs: DockerPrograms, folder: string): Promise<DockerEngine> {
    const engine = new DockerEngine(programs, folder);
    try {
      await engine.#untilServing();
      return engine;
    } catch (error) {
      await engine.stop();
      throw error;
    }
  }

  private constructor(programs: DockerPrograms, folder: string) {
    this.#programs = programs;
    this.#folder = folder;
    this.#cgroup = `/kubus-docker-${folder.slice(folder.lastIndexOf('-') + 1)}`;
    const log = openSync(join(folder, 'dockerd.log'), 'a');
    const namespaces = ['--pid', '--fork', '--mount', '--net', '--kill-child'];
    const command = ['unshare', ...namespaces, '--', 'sh', '-c', machine, 'machine', folder, this.#cgroup];
    // Everything ends with the test, whatever its result.
    this.#child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command], {
      detached: true,
      stdio: ['ignore', log, log],
      env: this.environment,
    });
    closeSync(log);
    this.#exited = once(this.#child, 'exit');
  }

  /** The environment of clients of the engine. */
  get environment(): Record<string, string> {
    const { root, config } = this.#programs;
    return {
      PATH: [...['sbin', 'bin'].map((name) => join(root, 'usr', name)), process.env['PATH'] ?? ''].join(':'),
      DOCKER_HOST: `unix://${this.#folder}/docker.sock`,
      DOCKER_CONFIG: config,
    };
  }

  /** Runs `docker`; returns its standard output. */
  async docker(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const options = { env: { ...this.environment, ...env }, maxBuffer: 64 * 1024 * 1024 };
    return (await run('docker', [...args], options)).stdout;
  }

  /** Creates an image from a folder. */
  async importFolder(folder: string, image: string, change: readonly string[] = []): Promise<void> {
    const script = 'folder=$1 && shift && tar -C "$folder" -c . | docker import "$@"';
    const changes = change.flatMap((one) => ['--change', one]);
    await run('sh', ['-c', script, 'import', folder, ...changes, '-', image], { env: this.environment });
  }

  /** The network namespace of the engine's machine, as a file. */
  get network(): string {
    return `/proc/${this.#init}/ns/net`;
  }

  /** `command` as one that runs on the engine's machine. */
  inside(command: Command): Command {
    return ['nsenter', `--target=${this.#init}`, '--mount', '--net', '--pid', '--', ...command];
  }

  /** Runs a command on the engine's machine; returns its standard output. */
  async onMachine(program: string, ...args: readonly string[]): Promise<string> {
    const [enter, ...rest] = this.inside([program, ...args]);
    return (await run(enter, rest, { maxBuffer: 64 * 1024 * 1024 })).stdout;
  }

  /**
   * The PID of the program that a container's process 1 keeps running, on the engine's machine; undefined while there is none.
   * Shims of a runtime are children of that process too, and outlive the program.
   */
  async keptBy(keeper: number): Promise<number | undefined> {
    const look = 'for pid in $(cat "/proc/$1/task/$1/children"); do echo "$pid $(cat "/proc/$pid/comm")"; done';
    const children = await this.onMachine('sh', '-c', look, 'look', String(keeper)).catch(() => '');
    const [program] = children.split('\n').filter((line) => /^\d+ \S/.test(line) && !line.endsWith(' containerd-shim'));
    return program === undefined ? undefined : Number.parseInt(program, 10);
  }

  /** Ends the engine with all of its containers. */
  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.#exited;
    await removeCgroupRoot(this.#cgroup);
  }

  async #untilServing(): Promise<void> {
    const { pid = 0 } = this.#child;
    await poll('a Docker engine', async () => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        const log = (await readFile(join(this.#folder, 'dockerd.log'), 'utf8'))
          .trim()
          .split('\n')
          .slice(-3)
          .join(' / ');
        throw new HarnessError('NoDocker', `dockerd does not run here: ${log}`);
      }
      const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
      this.#init = Number.parseInt(children, 10);
      return this.docker(['version']).catch(() => undefined);
    });
  }
}
