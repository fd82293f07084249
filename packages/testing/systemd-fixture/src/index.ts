import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
/**
 * A private D-Bus with a process that answers as systemd does where the project asks it (`systemd-process.ts`): the real one can only be
 * process 1.
 */
export class TestSystemd {
  /** Where units' cgroups are, as in a cgroup v2 mount. */
  readonly cgroups: string;
  /** Address of the bus. */
  readonly address: string;
  readonly #folder: string;
  #processes: Running[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
    this.cgroups = join(folder, 'cgroups');
    this.address = `unix:path=${join(folder, 'bus')}`;
  }

  static async start(): Promise<TestSystemd> {
    const systemd = new TestSystemd(await mkdtemp(join(tmpdir(), 'kubus-systemd-')));
    await mkdir(systemd.cgroups);
    await writeFile(join(systemd.cgroups, 'cgroup.subtree_control'), '');
    await writeFile(join(systemd.#folder, 'bus.conf'), busConfig(systemd.address));
    await systemd.begin();
    return systemd;
  }

  /** The calls since the last start: method, unit and the properties as JSON. */
  get calls(): string[] {
    const lines = this.#processes[1]?.written().split('\n') ?? [];
    return lines.filter((line) => line.includes(' '));
  }

  /** Resolves once the calls are as wanted. */
  async called(isWanted: () => boolean): Promise<void> {
    await this.#processes[1]?.until({ test: isWanted });
  }

  /** Applies every unit's properties again. */
  async reload(): Promise<void> {
    const [, manager] = this.#processes;
    const expected = (manager?.written().match(/^reloaded$/gm)?.length ?? 0) + 1;
    manager?.child.kill('SIGHUP');
    await manager?.until(new RegExp(`(?:reloaded\\n[^]*){${expected}}`));
  }

  /** Starts the bus and the manager, which knows of no unit. */
  async begin(): Promise<void> {
    const config = `--config-file=${join(this.#folder, 'bus.conf')}`;
    const bus = run('dbus-daemon', ['--nofork', '--print-address', config]);
    this.#processes = [bus];
    await bus.until(/unix:/);
    const program = join(import.meta.dirname, 'systemd-process.ts');
    const manager = run(process.execPath, [program], { DBUS_SYSTEM_BUS_ADDRESS: this.address, CGROUPS: this.cgroups });
    this.#processes = [bus, manager];
    await manager.until(/^ready$/m);
  }

  /** Ends both; what units there were is forgotten. */
  async end(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.end()));
    await rm(join(this.#folder, 'bus'), { force: true });
  }

  async stop(): Promise<void> {
    await this.end();
    await rm(this.#folder, { recursive: true });
  }
}

function busConfig(address: string): string {
  return `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>${address}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;
}

interface Running {
  readonly child: ChildProcessByStdio<null, Readable, null>;
  readonly written: () => string;
  /** Resolves once standard output matches, which is tried whenever there is more; rejects when the process ends before. */
  readonly until: (pattern: Pick<RegExp, 'test'>) => Promise<void>;
  readonly end: () => Promise<void>;
}

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, ...env } });
  const closed = once(child, 'close');
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return {
    child,
    written: () => text,
    until: async (pattern) => {
      while (!pattern.test(text)) {
        const more = await Promise.race([once(child.stdout, 'data').then(() => true), closed.then(() => false)]);
        if (!more) throw new Error(`${program} ended without what was awaited: ${text}`);
      }
    },
    end: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await closed;
    },
  };
}
