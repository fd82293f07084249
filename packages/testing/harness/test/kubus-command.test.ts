import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { leftToTheProgram, refused } from './command-lines.ts';
import { writeFiles } from './write-files.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const command = join(root, 'kubus');
/** What the command reads before anything is built. */
const readFirst = ['scripts/check-arguments.sh', 'scripts/progress.sh', 'packages/tools/cli/arguments.tsv'];
const tools = fileURLToPath(new URL('../../../../.kubus/tools/bin', import.meta.url));

/** A checkout with only the command, and a folder of programs as the whole PATH. */
let checkout: string;
let programs: string;
let running: ChildProcessWithoutNullStreams[];
let registry: Server | undefined;

beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'kubus-checkout-'));
  programs = join(checkout, 'programs');
  running = [];
  await mkdir(programs);
  await copyFile(command, join(checkout, 'kubus'));
  for (const file of readFirst) {
    await mkdir(dirname(join(checkout, file)), { recursive: true });
    await copyFile(join(root, file), join(checkout, file));
  }
  // Readable by others: one test does not run as root.
  await chmod(checkout, 0o755);
});

afterEach(async () => {
  for (const child of running.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  registry?.close();
  registry = undefined;
  await rm(checkout, { recursive: true, force: true });
});

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcessWithoutNullStreams {
  const [program = '', ...rest] = args;
  const child = spawn(program, rest, { cwd: checkout, env: { PATH: programs, HOME: checkout, ...env } });
  running.push(child);
  return child;
}

async function outcome(child: ChildProcessWithoutNullStreams): Promise<Outcome> {
  const closed = once(child, 'close') as Promise<[code: number]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}

async function kubus(...args: string[]): Promise<Outcome> {
  return outcome(start(['/bin/bash', join(checkout, 'kubus'), ...args]));
}

/** A checkout that has been prepared: the command line program prints its arguments. */
async function prepare(): Promise<void> {
  await mkdir(join(checkout, 'packages/tools/cli/dist'), { recursive: true });
  await mkdir(join(checkout, '.kubus'));
  await writeFile(join(checkout, '.kubus/ready'), `${process.execPath}\n`);
  await writeFile(
    join(checkout, 'packages/tools/cli/dist/main.mjs'),
    'console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 7;',
  );
}

/** The machine's programs in /usr/bin, except Node.js. */
async function useMachinePrograms(): Promise<void> {
  const names = (await readdir('/usr/bin')).filter((name) => !/^(node|nodejs|npm|npx|pnpm|corepack)$/.test(name));
  await Promise.all(names.map((name) => symlink(join('/usr/bin', name), join(programs, name))));
  // Where the machine does not have them, this checkout has unpacked them.
  const unpacked = ['containerd', 'ctr', 'containerd-shim-runc-v2', 'nats-server', 'pasta'].filter(
    (name) => !names.includes(name),
  );
  await Promise.all(unpacked.map((name) => symlink(join(tools, name), join(programs, name))));
}

/** A registry that answers every request with the same bytes. */
async function startRegistry(content: string): Promise<string> {
  const server = createServer((_, response) => response.end(content));
  registry = server;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe('a prepared checkout', () => {
  test('runs the program with unchanged arguments and exit code, and prints nothing else', async () => {
    await prepare();
    expect(await kubus('get', 'pods', '--field selector', '', '*')).toEqual({
      code: 7,
      stdout: '["get","pods","--field selector","","*"]\n',
      stderr: '',
    });
  });

  test('is found through a link to its command', async () => {
    await prepare();
    const link = join(checkout, 'elsewhere');
    await symlink(join(checkout, 'kubus'), link);
    await symlink('/usr/bin/readlink', join(programs, 'readlink'));
    expect((await outcome(start(['/bin/bash', link, 'status']))).stdout).toBe('["status"]\n');
  });
});

describe('without root', () => {
  const asNobody = (...args: string[]) =>
    outcome(
      start(['/usr/bin/setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '/bin/bash', 'kubus', ...args]),
    );

  test('the first line of output reports it with a hint', async () => {
    const { code, stdout, stderr } = await asNobody('up', '--foreground');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.split('\n')[0]).toBe(
      'kubus: Kubus needs root for namespaces, mounts and containers: run sudo ./kubus up --foreground',
    );
  });

  test.each([[['--help']], [['get', 'pods', '--help']], [[]]])('help is printed: %j', async (args) => {
    await prepare();
    expect((await asNobody(...args)).stdout).toBe(`${JSON.stringify(args)}\n`);
  });
});

describe('wrong arguments are refused before anything is installed or built', () => {
  test.each(refused)('%s', async (line, message) => {
    expect(await kubus(...line.split(' '))).toEqual({ code: 2, stdout: '', stderr: `error: ${message}\n` });
    expect(await readdir(checkout)).not.toContain('.kubus');
  });

  test('the name of the node in the environment is checked, too', async () => {
    const child = start(['/bin/bash', 'kubus', 'up'], { KUBUS_NODE: 'A' });
    expect(await outcome(child)).toMatchObject({ code: 2, stderr: expect.stringContaining("argument 'A' is invalid") });
  });

  test.each(leftToTheProgram)('what may be right is left to the program: %s', async (line) => {
    await prepare();
    const { code, stderr } = await kubus(...line.split(' '));
    // `up` prepares first, and the first tool that it looks for is missing here.
    expect([code, stderr]).toEqual(
      line.includes('up') && !line.includes('--help') ? [1, expect.stringContaining('flock')] : [7, ''],
    );
  });
});

test('missing tools that cannot be installed are named in the first line', async () => {
  for (const program of ['mkdir', 'flock', 'grep']) {
    await symlink(join('/usr/bin', program), join(programs, program));
  }
  const { code, stderr } = await kubus('status');
  expect(code).toBe(1);
  expect(stderr.split('\n')[0]).toMatch(
    /^kubus: Missing packages \(Debian names\): containerd .*gcc curl .*There is no apt-get here/,
  );
});

describe('what is built', () => {
  const source = 'services/sync-loop/src/main.ts';
  const ready = () => join(checkout, '.kubus/ready');
  const complete = 'pnpm build --output-logs=new-only';

  /** A checkout that has been prepared and built, with pnpm and the bundler as programs that note how they were called. */
  beforeEach(async () => {
    await prepare();
    await useMachinePrograms();
    const script = await readFile(command, 'utf8');
    const version = (name: string) => new RegExp(`^readonly ${name}_version=(.+)$`, 'm').exec(script)?.[1] ?? '';
    const node = join(checkout, `.kubus/tools/node-${version('node')}/bin/node`);
    const note = (name: string, from: number) => `
      import { appendFileSync } from 'node:fs';
      appendFileSync('calls', [${JSON.stringify(name)}, ...process.argv.slice(${from})].join(' ') + '\\n');
    `;
    await writeFiles(checkout, {
      [`.kubus/tools/pnpm-${version('pnpm')}/bin/pnpm.mjs`]: note('pnpm', 4),
      'scripts/build-programs.mjs': `${note('programs', 2)} console.log('built sync-loop');`,
      'node_modules/none': '',
      'packages/a/src/index.ts': '',
      'proto/cri.proto': '',
      ...Object.fromEntries(
        ['package', 'turbo', 'tsconfig.base', 'tsconfig.pure'].map((name) => [`${name}.json`, '{}']),
      ),
      'pnpm-lock.yaml': '',
      [source]: '',
    });
    await mkdir(dirname(node), { recursive: true });
    await symlink(process.execPath, node);
    await utimes(join(checkout, 'pnpm-lock.yaml'), 0, 0);
    await writeFile(join(checkout, '.kubus/installed'), '');
    await writeFile(ready(), `${node}\n`);
    const written = new Date(Math.ceil((await stat(ready())).ctimeMs));
    await utimes(ready(), written, written);
  });

  /** Runs the command, and returns how pnpm and the bundler were called. */
  async function calls(...args: string[]): Promise<string> {
    const { code, stderr } = await kubus(...args);
    // The exit code of the command line program: it was reached.
    expect({ code, stderr }).toEqual({ code: 7, stderr: expect.any(String) });
    const noted = await readFile(join(checkout, 'calls'), 'utf8').catch(() => '');
    await rm(join(checkout, 'calls'), { force: true });
    return noted.trim();
  }

  async function pnpmProgram(): Promise<string> {
    const names = await readdir(join(checkout, '.kubus/tools'));
    return `.kubus/tools/${names.find((name) => name.startsWith('pnpm-')) ?? ''}/bin/pnpm.mjs`;
  }

  /** The clock of a file system advances in steps of some milliseconds: writes until the file is newer than the last build. */
  async function change(file: string, write = (path: string) => writeFile(path, '// changed')): Promise<void> {
    const path = join(checkout, file);
    do await write(path);
    while ((await stat(path)).ctimeMs <= (await stat(ready())).mtimeMs);
  }

  test.each([
    ['restart sync-loop', source, 'programs sync-loop'],
    ['--node a restart sync-loop-0 -o json', 'packages/a/src/index.ts', 'programs sync-loop-0'],
    ['restart services', 'package.json', 'programs services'],
    // Its page and the contract that it serves are not programs.
    ['restart observatory-0', source, complete],
    // Other packages are built from what is generated from it.
    ['restart sync-loop', 'proto/cri.proto', complete],
    ['up', source, complete],
    ['scale prober 2', source, complete],
    ['status', source, ''],
  ])('kubus %s after a change of %s: %s', async (line, file, expected) => {
    await change(file);
    expect(await calls(...line.split(' '))).toBe(expected);
  });

  test('what a restart has left is built by the next command that builds everything', async () => {
    await change(source);
    expect(await calls('restart', 'sync-loop')).toBe('programs sync-loop');
    expect(await calls('restart', 'prober')).toBe('programs prober');
    expect(await calls('up')).toBe(complete);
    expect(await calls('restart', 'prober')).toBe('');
    expect(await calls('up')).toBe('');
  });

  test('a file that comes back with its old time counts as changed', async () => {
    await change(source, async (path) => {
      await writeFile(`${path}.kept`, '// kept');
      await utimes(`${path}.kept`, 0, 0);
      await rename(`${path}.kept`, path);
    });
    expect(await calls('up')).toBe(complete);
  });

  describe('what up prints of it', () => {
    /** The whole output of a build that prints a line, and takes longer than a second. */
    async function up(args: readonly string[], code = 0): Promise<string> {
      await writeFiles(checkout, {
        [await pnpmProgram()]: `
          console.log('a:programs: package 1 of 12: services/a\\na:programs: package 2 of 12: services/b\\na:programs: built a');
          setTimeout(() => process.exit(${code}), 1200);`,
      });
      await change(source);
      const { stdout, stderr } = await outcome(start(args));
      return `${stderr}${stdout}`.replaceAll(/\r\n/g, '\n');
    }
    const command = () => ['/bin/bash', join(checkout, 'kubus'), 'up'];

    test('one line with its duration', async () => {
      expect(await up(command())).toMatch(/^kubus: building \.\.\. \d s\nkubus: built a\n\["up"\]\n$/);
    });

    test('the package and the seconds meanwhile when it takes long', async () => {
      await rm(join(programs, 'sleep'));
      await writeFile(join(programs, 'sleep'), '#!/bin/bash\nexec /usr/bin/sleep 0.3', { mode: 0o755 });
      expect(await up(command())).toMatch(
        /^kubus: building \.\.\. .*package 2 of 12, \d s \.\.\. \d s\nkubus: built a\n/,
      );
    });

    test('with --quiet only why a build fails', async () => {
      const args = [...command(), '--quiet'];
      expect(await up(args)).toBe('["up","--quiet"]\n');
      const why = 'kubus: building ... failed; .kubus/bootstrap.log ends with:\n';
      const said = await up(args, 1);
      expect([said.startsWith(why), said.endsWith('a:programs: built a\n')]).toEqual([true, true]);
    });

    test('everything with --verbose', async () => {
      expect(await up([...command(), '--verbose'])).toMatch(
        /^kubus: building\n(a:programs: package .*\n){2}a:programs: built a\nkubus: building took \d s\nkubus: built a\n/,
      );
    });

    test('on a terminal one line with the package and the seconds, and no colours', async () => {
      const script = ['/usr/bin/script', '--quiet', '--return', '--command', command().join(' '), '/dev/null'];
      const seen = await up(script);
      expect(seen).toMatch(
        /^kubus: building \.\.\. (\rkubus: building \.\.\. \d s )*(\rkubus: building \.\.\. package 2 of 12, \d s )+\r *\rkubus: building \.\.\. \d s\n/,
      );
      expect(seen).not.toContain('\u001b');
    });
  });

  test('says how to continue when it is interrupted, and builds again', async () => {
    const kept = await readFile(ready(), 'utf8');
    await change(source);
    const program = await pnpmProgram();
    const noting = await readFile(join(checkout, program), 'utf8');
    await writeFiles(checkout, {
      [program]: `process.kill(process.ppid, 'SIGINT'); setTimeout(() => undefined, 100);`,
    });
    const { code, stderr } = await kubus('up');
    expect([code, stderr]).toEqual([
      130,
      expect.stringMatching(/building \.\.\. \nkubus: interrupted: the same command goes on/),
    ]);
    expect(await readFile(ready(), 'utf8')).toBe(kept);
    await writeFiles(checkout, { [program]: noting });
    expect(await calls('up')).toBe(complete);
  });

  test('says what it has built', async () => {
    await change(source);
    const { stderr } = await kubus('restart', 'sync-loop');
    expect(stderr).toMatch(/^kubus: building \.\.\. \d+ s\nkubus: built sync-loop\n$/);
  });
});

describe('fetching Node.js', () => {
  test('refuses an archive other than the pinned one, and keeps nothing of it', async () => {
    await useMachinePrograms();
    const npmRegistry = await startRegistry('not that archive');
    const child = start(['/bin/bash', 'kubus', 'up'], { npm_config_registry: npmRegistry });
    const { code, stderr } = await outcome(child);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^kubus: fetching Node.js [\d.]+ \.\.\. failed; \.kubus\/bootstrap\.log ends with:\n/);
    expect(stderr).toContain('the SHA-512 digest does not match');
    const kept = await readdir(join(checkout, '.kubus/tools'));
    expect(kept.filter((name) => !name.endsWith('.tgz'))).toEqual(['bin']);
  });

  test('waits for another kubus process that prepares the same checkout', async () => {
    await useMachinePrograms();
    await mkdir(join(checkout, '.kubus'));
    const holder = start(['/usr/bin/flock', '.kubus/lock', 'sh', '-c', 'echo held; read -r _']);
    await once(holder.stdout, 'data');
    const waiting = start(['/bin/bash', 'kubus', 'up'], { npm_config_registry: await startRegistry('') });
    const [said] = (await once(waiting.stderr, 'data')) as [Buffer];
    expect(said.toString()).toBe('kubus: waiting for another kubus process that is preparing this checkout\n');
    holder.stdin.end('go\n');
    expect((await outcome(waiting)).stderr).toMatch(/^kubus: fetching Node/);
    expect(await readFile(join(checkout, '.kubus/bootstrap.log'), 'utf8')).not.toBe('');
  });
});
