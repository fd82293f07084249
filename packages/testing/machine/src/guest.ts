import { freePort, runCommand } from '@kubus/launcher';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { GuestError } from './errors.ts';
import type { GuestImage } from './guest-image.ts';
import { type Patience, type Say, machinePatience, waitUntil } from './progress.ts';

/** What the guest gets of this machine. Kept trees of the reference were made with the defaults. */
export interface GuestSize {
  /** Default: 1. */
  readonly cpus?: number;
  /** MiB. Default: 4096. */
  readonly memoryMiB?: number;
  /** With hardware virtualization, where it works. Default: emulated. */
  readonly kvm?: boolean;
}

export interface GuestOptions extends GuestSize {
  /** Further disks: `/dev/vdb` and so on, read-only. */
  readonly disks?: readonly string[];
  /** Where its serial console is written. */
  readonly console: string;
}

/** How a command in the guest is run. */
export interface RunOptions {
  /** Default: root. */
  readonly user?: 'root' | 'dev';
  /** Seconds of this machine after which it counts as hanging. Default: {@link HANGING_S}. */
  readonly seconds?: number;
}

/** Seconds of this machine after which a command, and a boot, count as hanging: a busy machine emulates slowly. */
const HANGING_S = 7_200;
/** Seconds of the guest's clock for which a condition may be missing. */
const PATIENCE_S = 600;
const OUTPUT_LIMIT = 64 * 1024 * 1024;

/**
 * A booted guest. It has a network of its own that QEMU provides as an ordinary program, so nothing of this machine's network
 * changes; its sshd is reached through a port of the loopback. Its disk is a copy that ends with it, as QEMU does with us.
 */
export class Guest {
  readonly #qemu: ChildProcess;
  readonly #folder: string;
  readonly #ssh: readonly string[];
  readonly #say: Say;

  /** @throws GuestError when it does not answer in time; its console has the reason. */
  static async boot(image: GuestImage, options: GuestOptions, say: Say): Promise<Guest> {
    const folder = await mkdtemp(join(tmpdir(), 'kubus-guest-'));
    const port = await freePort();
    const log = createWriteStream(options.console);
    // The first process of a parent that ends without a word takes QEMU with it.
    const qemu = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', 'qemu-system-x86_64', ...qemuArguments(image, options, port)],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    qemu.stdout.pipe(log, { end: false });
    qemu.stderr.pipe(log);
    await once(qemu, 'spawn');
    const guest = new Guest(qemu, folder, sshArguments(image, folder, port), say);
    try {
      await guest.#answers('the guest boots');
    } catch (error) {
      await guest.stop();
      throw error;
    }
    return guest;
  }

  private constructor(qemu: ChildProcess, folder: string, ssh: readonly string[], say: Say) {
    this.#qemu = qemu;
    this.#folder = folder;
    this.#ssh = ssh;
    this.#say = say;
  }

  /**
   * Runs a line of shell in the guest and returns what it wrote to standard output.
   *
   * @throws GuestError `CommandFailed` with both outputs.
   */
  async run(line: string, { user = 'root', seconds = HANGING_S }: RunOptions = {}): Promise<string> {
    const args = [...this.#ssh, `${user}@127.0.0.1`, line];
    return new Promise((resolve, reject) => {
      execFile('ssh', args, { maxBuffer: OUTPUT_LIMIT, timeout: seconds * 1_000 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else {
          const why = error.killed === true ? `not within ${seconds} s` : `exit code ${String(error.code)}`;
          const output = [stderr.trim(), stdout.trim()].filter((text) => text !== '').join('\n');
          reject(new GuestError('CommandFailed', `${line}: ${why}: ${output.slice(-4_000)}`, { cause: error }));
        }
      });
    });
  }

  /** Writes a file of the guest, with the folders above it. */
  async write(path: string, content: string): Promise<void> {
    const encoded = Buffer.from(content).toString('base64');
    await this.run(`mkdir -p "$(dirname ${path})" && echo ${encoded} | base64 -d >${path}`);
  }

  /** Seconds of its clock since it has booted. */
  async uptime(): Promise<number> {
    return Number((await this.run('cat /proc/uptime')).split(' ')[0]);
  }

  /** Sets its clock to this machine's, behind which it falls while it works: certificates of this machine would not be valid yet. */
  async setClock(): Promise<void> {
    await this.run(`date --set=@${Math.ceil(Date.now() / 1_000)} >/dev/null`);
  }

  /**
   * Resolves with the result of `look` as soon as it is not undefined; see {@link waitUntil}. At most ten minutes of the guest's clock, which
   * may be hours of this machine's.
   */
  async until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    return waitUntil(what, this.#say, look, await this.#patience());
  }

  /** A socket of this machine that leads to that of the guest. */
  async socket(path: string): Promise<string> {
    const own = join(this.#folder, basename(path));
    await this.#forward('-L', `${own}:${path}`);
    return own;
  }

  /** Makes a TCP port of this machine's loopback reachable in the guest, under the same number. */
  async reach(port: number): Promise<void> {
    await this.#forward('-R', `127.0.0.1:${port}:127.0.0.1:${port}`);
  }

  /** Restarts it through systemd, and returns when the new boot has come up. */
  async reboot(): Promise<void> {
    const before = await this.#bootId();
    await this.run('systemctl reboot').catch(() => undefined);
    await this.#booting('the guest boots again', async () => {
      // A connection to the boot before would be waited for.
      await this.#disconnect();
      const now = await this.#bootId();
      return now === before ? undefined : now;
    });
    await this.#answers('the guest is up again');
  }

  /** Ends it at once. What it wrote to its disk is lost. */
  async stop(): Promise<void> {
    await this.#disconnect();
    if (this.#qemu.exitCode === null && this.#qemu.signalCode === null) {
      const ended = once(this.#qemu, 'exit');
      this.#qemu.kill('SIGKILL');
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Of the connection that all commands share. */
  async #forward(direction: '-L' | '-R', ends: string): Promise<void> {
    await runCommand(['ssh', ...this.#ssh, '-O', 'forward', direction, ends, 'root@127.0.0.1']);
  }

  async #disconnect(): Promise<void> {
    await runCommand(['ssh', ...this.#ssh, '-O', 'exit', 'root@127.0.0.1']).catch(() => undefined);
    await runCommand(['ssh', ...this.#ssh, '-O', 'exit', 'dev@127.0.0.1']).catch(() => undefined);
  }

  async #bootId(): Promise<string> {
    return (await this.run('cat /proc/sys/kernel/random/boot_id', { seconds: 600 })).trim();
  }

  /** While the guest boots its clock cannot be asked. */
  #booting<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    return waitUntil(what, this.#say, look, machinePatience(HANGING_S));
  }

  async #patience(): Promise<Patience> {
    const end = (await this.uptime()) + PATIENCE_S;
    return { limit: `${PATIENCE_S} s of the guest`, isOver: async () => (await this.uptime()) > end };
  }

  /** A unit that failed leaves the system `degraded`, which is for a test to judge. */
  async #answers(what: string): Promise<void> {
    await this.#booting(what, async () => {
      if (this.#qemu.exitCode !== null) throw new GuestError('GuestEnded', 'QEMU has ended: see the console');
      const state = await this.run('systemctl is-system-running || true', { seconds: 600 });
      return /running|degraded/.test(state) ? state : undefined;
    });
  }
}

function qemuArguments(image: GuestImage, options: GuestOptions, port: number): string[] {
  const { cpus = 1, memoryMiB = 4096, kvm = false, disks = [] } = options;
  return [
    // The clock of an emulated machine counts its instructions, a thousand million a second: what has a time limit there takes as long as
    // on a real machine, however slow this one is.
    ...(kvm ? ['-accel', 'kvm', '-cpu', 'host'] : ['-accel', 'tcg,thread=single', '-icount', 'shift=0', '-cpu', 'max']),
    ...['-smp', String(cpus), '-m', `${memoryMiB}M`, '-display', 'none', '-serial', 'stdio', '-monitor', 'none'],
    ...['-kernel', image.kernel, '-initrd', image.initrd, '-append', 'root=/dev/vda rw console=ttyS0 quiet'],
    // Writes go to a temporary file that QEMU has already unlinked.
    ...['-drive', `file=${image.disk},if=virtio,format=raw,snapshot=on,cache=unsafe`],
    ...disks.flatMap((disk) => ['-drive', `file=${disk},if=virtio,format=raw,readonly=on`]),
    ...['-nic', `user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:${port}-:22`],
    ...['-device', 'virtio-rng-pci', '-rtc', 'clock=vm'],
  ];
}

/** One connection serves all commands: a handshake takes seconds in an emulated machine. */
function sshArguments({ sshKey }: GuestImage, folder: string, port: number): string[] {
  const options = {
    StrictHostKeyChecking: 'no',
    UserKnownHostsFile: '/dev/null',
    LogLevel: 'ERROR',
    ConnectTimeout: '600',
    ServerAliveInterval: '60',
    ServerAliveCountMax: '60',
    ControlMaster: 'auto',
    ControlPath: join(folder, '%r'),
    ControlPersist: 'yes',
  };
  return [
    '-i',
    sshKey,
    '-p',
    String(port),
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
  ];
}
