import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, type Socket, createServer as createSocketServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { silentLogger } from '@kubus/ports';
import { findRemoteProcess } from '../../src/containers/remote-process.ts';
import { type Natives, compileNatives } from '../../src/node/natives.ts';
import { Supervisor } from '../../src/processes/supervisor.ts';
import { afterTest, testFolder } from '../support.ts';

let natives: Natives;
beforeAll(async () => {
  natives = await compileNatives(join(import.meta.dirname, '../../../../../.kubus/cache'));
});

interface Kept {
  readonly control: string;
  readonly keeper: ChildProcess;
  /** Resolves to how the keeper has ended. */
  readonly ended: Promise<[number | null, string | null]>;
  /** The lines that the program has written, as many as that. */
  readonly lines: (count: number) => Promise<string[]>;
}

/** A shell script under keep-service. */
async function kept(script: string): Promise<Kept> {
  const control = join(await testFolder(), 'it.control');
  const keeper = spawn(natives.keepService, [control, 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(keeper, 'exit') as Promise<[number | null, string | null]>;
  afterTest(async () => {
    keeper.kill('SIGKILL');
    await ended;
  });
  let text = '';
  const heard = new Set<() => void>();
  keeper.stdout.on('data', (part: Buffer) => {
    text += part.toString();
    for (const look of heard) look();
  });
  const lines = (count: number) =>
    new Promise<string[]>((resolve) => {
      const look = () => {
        const whole = text.split('\n').slice(0, -1);
        if (whole.length >= count) resolve(whole);
      };
      heard.add(look);
      look();
    });
  return { control, keeper, ended, lines };
}

const forever = 'echo $$; exec sleep 1000';

test('a program is restarted whatever ended it', async () => {
  const { lines, keeper } = await kept(forever);
  for (let life = 1; life <= 3; life++) {
    const pids = await lines(life);
    expect(new Set(pids).size).toBe(life);
    process.kill(Number(pids.at(-1)), life === 1 ? 'SIGKILL' : 'SIGTERM');
  }
  await lines(4);
  expect(keeper.exitCode).toBeNull();
});

test('SIGTERM is forwarded, and the exit code is that of the program', async () => {
  const { lines, keeper, ended } = await kept(`trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done`);
  await lines(1);
  keeper.kill('SIGTERM');
  expect(await ended).toEqual([7, null]);
});

test('the program is killed when its keeper is killed', async () => {
  const { lines, keeper } = await kept(forever);
  const [pid = ''] = await lines(1);
  const held = spawn('tail', [`--pid=${pid}`, '-f', '/dev/null']);
  keeper.kill('SIGKILL');
  expect(await once(held, 'exit')).toEqual([0, null]);
});

test('orphans of the program are reaped', async () => {
  const { lines, keeper } = await kept(`(sh -c 'echo $$' &); exec sleep 1000`);
  const [orphan = ''] = await lines(1);
  const children = join('/proc', String(keeper.pid), 'task', String(keeper.pid), 'children');
  // A zombie has an entry in /proc until somebody reaps it.
  for (let gone = false; !gone;) {
    gone = await stat(join('/proc', orphan)).then(
      () => false,
      () => true,
    );
  }
  expect((await readFile(children, 'utf8')).trim().split(' ')).toHaveLength(1);
});

test('the control socket is accessible to its owner and group only', async () => {
  const { lines, control } = await kept(forever);
  await lines(1);
  expect((await stat(control)).mode & 0o777).toBe(0o660);
});

/** A supervisor of what runs under a keeper. */
function supervised(control: string) {
  const events: string[] = [];
  const waiting = new Map<number, () => void>();
  const note = (event: string) => {
    events.push(event);
    waiting.get(events.length)?.();
  };
  const stopping = new AbortController();
  const supervisor = new Supervisor({
    logger: silentLogger,
    events: {
      started: (what, pid) => note(`${what} started ${pid}`),
      ended: (what, pid, status) => note(`${what} ended ${pid} ${status}`),
    },
  });
  afterTest(() => {
    supervisor.stop();
    stopping.abort();
    return Promise.resolve();
  });
  supervisor.keep('it', () => findRemoteProcess(control, stopping.signal));
  const count = async (wanted: number) => {
    if (events.length < wanted) await new Promise<void>((resolve) => waiting.set(wanted, resolve));
    return events.slice(0, wanted);
  };
  return { supervisor, count };
}

test('a launcher watches, restarts, signals, releases and takes back a service in a container', async () => {
  const { control, lines } = await kept(forever);
  const { supervisor, count } = supervised(control);
  const pids: string[] = [];
  const started = async (life: number) => {
    pids.push((await lines(life)).at(-1) ?? '');
    return `it started ${pids.at(-1)}`;
  };
  expect((await count(1))[0]).toBe(await started(1));
  expect(await supervisor.restart('it')).toBe(true);
  expect((await count(3)).slice(1)).toEqual([`it ended ${pids[0]} SIGTERM`, await started(2)]);
  expect(await supervisor.signal('it', 'SIGKILL')).toBe(Number(pids[1]));
  expect((await count(5)).slice(3)).toEqual([`it ended ${pids[1]} SIGKILL`, await started(3)]);
  await supervisor.release('it');
  expect((await count(6))[5]).toBe(`it ended ${pids[2]} SIGTERM`);
  expect(await supervisor.restart('it')).toBe(false);
  supervisor.takeBack('it');
  expect((await count(7))[6]).toBe(await started(4));
});

test('the launcher waits for a container that has disappeared', async () => {
  const { control, keeper, lines } = await kept(forever);
  const { count } = supervised(control);
  const [first = ''] = await lines(1);
  await count(1);
  keeper.kill('SIGKILL');
  expect((await count(2))[1]).toBe(`it ended ${first} unknown`);
  const again = spawn(natives.keepService, [control, 'sleep', '1000'], { stdio: 'ignore' });
  afterTest(async () => {
    again.kill('SIGKILL');
    await once(again, 'exit');
  });
  expect((await count(3))[2]).toMatch(/^it started \d+$/);
});

test('a container that ends before it has read its instruction counts as disappeared', async () => {
  const control = join(await testFolder(), 'it.control');
  const server = createSocketServer({ pauseOnConnect: true }).listen(control);
  afterTest(async () => {
    server.close();
    await once(server, 'close');
  });
  await once(server, 'listening');
  const connected = once(server, 'connection') as Promise<[Socket]>;
  const finding = findRemoteProcess(control, new AbortController().signal);
  const [socket] = await connected;
  socket.write('started 5\n');
  const { pid, exited } = await finding;
  // With bytes that nobody has read, the kernel resets the connection instead of ending it.
  socket.destroy();
  expect([pid, await exited]).toEqual([5, 'unknown']);
});

async function check(...args: string[]): Promise<unknown> {
  const [code] = (await once(spawn(natives.checkService, args, { stdio: 'ignore' }), 'exit')) as [number];
  return code;
}

test('the liveness check asks process 1 whether the program is running', async () => {
  const { control, lines } = await kept(forever);
  await lines(1);
  expect(await check('control', control)).toBe(0);
  expect(await check('control', `${control}.none`)).toBe(1);
});

test('the readiness check asks the service whether it is ready', async () => {
  const server = createServer(({ url }, response) => response.writeHead(url === '/readyz' ? 200 : 503).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  expect(await check('http', String(port), '/readyz')).toBe(0);
  expect(await check('http', String(port), '/healthz')).toBe(1);
  server.close();
  await once(server, 'close');
  expect(await check('http', String(port), '/readyz')).toBe(1);
});
