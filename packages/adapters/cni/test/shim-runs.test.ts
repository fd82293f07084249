// Programs that the compiled shim runs for the bridge: their input, their end, and leftovers when either side is killed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { type Socket, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FrameReader, encodeFrame } from '../src/frame.ts';
import { type Program, RunnerLostError } from '../src/program.ts';
import { encodeAnswer, encodeProgram, readProgramEnd } from '../src/shim-messages.ts';
import { linkShimSocket } from '../src/shim-install.ts';
import { endStrays } from '../src/strays.ts';
import { PluginHost } from '../src/plugin-host.ts';
import { afterTest, buildShim, heldShim, temporaryFolder } from './support.ts';

let built = '';
beforeAll(() => {
  built = mkdtempSync(join(tmpdir(), 'kubus-shim-'));
  buildShim(built);
});
afterAll(() => rmSync(built, { recursive: true, force: true }));

const answer = { exitCode: 0, stdout: 'answered', stderr: '' };

function shell(script: string, change: Partial<Program> = {}): Program {
  return {
    argv: ['/bin/sh', '-c', script],
    env: { PATH: '/usr/bin:/bin' },
    stdin: '',
    timeoutMs: 30_000,
    stdoutLimit: 1_000_000,
    stderrKept: 1000,
    ...change,
  };
}

/** Whether a process still executes; a zombie does not. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function untilEnded(pid: number): Promise<void> {
  while (isRunning(pid)) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A named pipe: a program that writes its PID to it shows the test that it is running. */
async function readPid(fifo: string): Promise<number> {
  const reader = spawn('cat', [fifo], { stdio: ['ignore', 'pipe', 'inherit'] });
  afterTest(() => reader.kill('SIGKILL'));
  const [said] = (await once(reader.stdout, 'data')) as [Buffer];
  return Number(said.toString());
}

async function makeFifo(): Promise<string> {
  const fifo = join(temporaryFolder(), 'pid');
  await once(spawn('mkfifo', [fifo]), 'exit');
  return fifo;
}

describe('a program run by the shim', () => {
  test('gets only its own input; programs are run one after the other, and then the call is answered', async () => {
    const shim = await heldShim();
    const { programs } = shim;
    const seen = await programs.run(
      shell('cat; env | grep -v ^PWD= | sort; ls /proc/self/fd | wc -l; exit 3', {
        stdin: 'x'.repeat(300_000),
        env: { PATH: '/usr/bin:/bin', A: 'b=c' },
      }),
    );
    expect(seen).toMatchObject({ how: 'exited', exitCode: 3, stderr: '' });
    // Three descriptors, and the one with which ls reads the folder.
    expect(seen.stdout.replace(/^x+/, '')).toBe('A=b=c\nPATH=/usr/bin:/bin\n_=/usr/bin/env\n4\n'.replace(/_=.*\n/, ''));
    expect(seen.stdout.indexOf('A')).toBe(300_000);
    const signals = await programs.run(shell('grep -E "^Sig(Blk|Ign|Cgt)" /proc/self/status | sort'));
    expect(signals.stdout.match(/SigBlk:\t0{16}/)).not.toBeNull();
    shim.answer(answer);
    expect(await shim.ended).toEqual({ signal: null, stdout: 'answered' });
    expect(programs.open).toBe(false);
    await expect(programs.run(shell('echo late'))).rejects.toThrow(RunnerLostError);
  });

  test('is awaited before the call is answered', async () => {
    const shim = await heldShim();
    const fifo = await makeFifo();
    const run = shim.programs.run(shell(`read line < ${fifo}; echo $line`));
    shim.answer(answer);
    const writer = spawn('sh', ['-c', `echo go > ${fifo}`]);
    await once(writer, 'exit');
    expect(await run).toMatchObject({ how: 'exited', stdout: 'go\n' });
    expect((await shim.ended).stdout).toBe('answered');
  });

  test('may leave a child behind that keeps none of its outputs open', async () => {
    const { programs } = await heldShim();
    const fifo = await makeFifo();
    const reported = readPid(fifo);
    const run = await programs.run(shell(`sh -c 'echo $$ > ${fifo}; exec sleep 1000' <&- >&- 2>&- & exit 0`));
    expect(run).toMatchObject({ how: 'exited', exitCode: 0 });
    const pid = await reported;
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
  });

  test('is killed with its process group and reaped at its time limit', async () => {
    const { programs } = await heldShim();
    const run = await programs.run(shell('echo $$; sleep 1000 & echo $!; wait', { timeoutMs: 300 }));
    expect(run.how).toBe('timedOut');
    const [leader = 0, child = 0] = run.stdout.split('\n').map(Number);
    expect(() => readFileSync(`/proc/${leader}/stat`)).toThrow('ENOENT');
    await untilEnded(child);
  });

  test('is awaited when it has closed its outputs and is still running', async () => {
    const { programs } = await heldShim();
    const run = await programs.run(shell('echo out; exec >&- 2>&-; sleep 0.2; exit 5'));
    expect(run).toMatchObject({ how: 'exited', exitCode: 5, stdout: 'out\n' });
  });

  test('is killed with the shim; its children are found and killed by their mark', async () => {
    const shim = await heldShim();
    const fifo = await makeFifo();
    const reported = readPid(fifo);
    const mark = `test-${process.pid}-${performance.timeOrigin}-killed`;
    afterTest(() => endStrays(mark));
    const folder = temporaryFolder();
    symlinkSync('/bin/sh', join(folder, 'sh'));
    const host = new PluginHost({ folders: [folder], ownerMark: mark });
    const other = spawn('/bin/sleep', ['1000'], { env: { KUBUS_OWNER: `${mark}/11` } });
    afterTest(() => other.kill('SIGKILL'));
    const run = host.through(shim.programs).run({
      type: 'sh',
      env: { CNI_COMMAND: 'ADD' },
      stdin: `setsid sh -c 'echo $$ > ${fifo}; exec sleep 1000'`,
      timeoutMs: 30_000,
    });
    const pid = await reported;
    shim.child.kill('SIGKILL');
    await expect(run).rejects.toMatchObject({
      cniCode: 11,
      message: 'plugin sh (ADD) lost the shim that ran it: it has ended',
    });
    expect(isRunning(pid)).toBe(false);
    expect(isRunning(other.pid ?? 0)).toBe(true);
    expect(shim.programs.open).toBe(false);
  });
});

/** A bridge with any behaviour for each connection, after its complete request. */
async function wildBridge(serve: (connection: Socket, attempt: number) => void): Promise<string> {
  const folder = temporaryFolder();
  linkSync(join(built, 'kubus-cni'), join(folder, 'kubus-cni'));
  const socketPath = join(folder, 's');
  let attempts = 0;
  const connections = new Set<Socket>();
  const server = createServer((connection) => {
    connections.add(connection);
    connection.on('error', () => undefined);
    connection.once('data', () => {
      attempts += 1;
      serve(connection, attempts);
    });
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  afterTest(() => {
    connections.forEach((connection) => connection.destroy());
    return new Promise((resolve) => server.close(resolve));
  });
  await linkShimSocket(folder, socketPath);
  return folder;
}

/** The output of the shim when its first attempt fails and its second is answered. */
async function afterRuin(ruin: (connection: Socket) => void): Promise<string> {
  const folder = await wildBridge((connection, attempt) => {
    if (attempt === 1) {
      ruin(connection);
    } else {
      connection.end(encodeAnswer(answer));
    }
  });
  const child = spawn(join(folder, 'kubus-cni'), { env: { CNI_COMMAND: 'ADD', KUBUS_CNI_TIMEOUT: '20' } });
  afterTest(() => child.kill('SIGKILL'));
  child.stdin.end('{}');
  let printed = '';
  child.stdout.on('data', (part: Buffer) => (printed += part.toString()));
  await once(child, 'close');
  return printed;
}

describe('a bridge that breaks the connection', () => {
  const whole = encodeProgram(shell('exit 0'));

  test('after any number of bytes of a program is called again', async () => {
    const some = Array.from({ length: whole.length }, (_, length) => length).filter((length) => length % 5 === 0);
    const printed = await Promise.all(
      some.map((length) => afterRuin((connection) => connection.end(whole.subarray(0, length)))),
    );
    expect(new Set(printed)).toEqual(new Set(['answered']));
  });

  const number = Buffer.from([0, 0, 255, 255]);
  const text = { tag: 'i', value: '' };
  const limits = ['t', 'l', 'k'].map((tag) => ({ tag, value: number }));
  test.each<[string, Buffer]>([
    ['no standard input', encodeFrame([{ tag: 'a', value: '/bin/true' }, ...limits])],
    ['no limits', encodeFrame([{ tag: 'a', value: '/bin/true' }, text])],
    [
      'a limit of three bytes',
      encodeFrame([{ tag: 'a', value: 'x' }, text, ...limits.slice(1), { tag: 't', value: 'abc' }]),
    ],
    ['a zero byte in an argument', encodeFrame([{ tag: 'a', value: 'a\0b' }, text, ...limits])],
    [
      'a zero byte in the environment',
      encodeFrame([{ tag: 'a', value: 'a' }, { tag: 'e', value: 'a\0b' }, text, ...limits]),
    ],
    ['bytes behind the program', Buffer.concat([whole, Buffer.from('more')])],
  ])('%s', async (_, bytes) => {
    expect(await afterRuin((connection) => connection.write(bytes))).toBe('answered');
  });

  test.each([
    ['by itself', () => undefined],
    ['of the pod that it delays', (pid: number) => process.kill(pid, 'SIGKILL')],
  ])('while a program is running is called again after the program has ended, %s', async (_, end) => {
    const [fifo, release] = [await makeFifo(), await makeFifo()];
    const reported = readPid(fifo);
    let pid = 0;
    let ranOn: boolean | undefined;
    const folder = await wildBridge((connection, attempt) => {
      if (attempt === 1) {
        connection.write(encodeProgram(shell(`echo $$ > ${fifo}; read line < ${release}`)));
        void reported.then((number) => {
          pid = number;
          connection.destroy();
        });
        connection.on('close', () => {
          expect(isRunning(pid)).toBe(true);
          end(pid);
          const writer = spawn('sh', ['-c', `echo go > ${release}`]);
          afterTest(() => writer.kill('SIGKILL'));
        });
      } else {
        ranOn = isRunning(pid);
        connection.end(encodeAnswer(answer));
      }
    });
    const child = spawn(join(folder, 'kubus-cni'), { env: { CNI_COMMAND: 'ADD', KUBUS_CNI_TIMEOUT: '20' } });
    afterTest(() => child.kill('SIGKILL'));
    child.stdin.end('{}');
    await once(child, 'exit');
    expect(child.exitCode).toBe(0);
    expect(pid).toBeGreaterThan(0);
    expect(ranOn).toBe(false);
  });

  test('does not keep a program running beyond the time limit of the shim', async () => {
    const fifo = await makeFifo();
    const reported = readPid(fifo);
    const folder = await wildBridge((connection) => {
      connection.write(encodeProgram(shell(`echo $$ > ${fifo}; exec sleep 1000`)));
    });
    const child = spawn(join(folder, 'kubus-cni'), { env: { CNI_COMMAND: 'ADD', KUBUS_CNI_TIMEOUT: '0.5' } });
    afterTest(() => child.kill('SIGKILL'));
    child.stdin.end('{}');
    const pid = await reported;
    await once(child, 'exit');
    expect(child.exitCode).toBe(1);
    expect(isRunning(pid)).toBe(false);
  });
});

test('the result of a program is decoded as it was encoded', () => {
  const fields = (tag: string, value: string | Buffer) => {
    const frame = encodeFrame([
      { tag, value },
      { tag: 'o', value: 'out' },
      { tag: 'r', value: 'err' },
    ]);
    return readProgramEnd(new FrameReader().push(frame) ?? []);
  };
  const printed = { stdout: 'out', stderr: 'err' };
  expect(fields('x', Buffer.from([7]))).toEqual({ ...printed, how: 'exited', exitCode: 7 });
  expect(fields('s', Buffer.from([9]))).toEqual({ ...printed, how: 'signalled', signal: 'SIGKILL' });
  expect(fields('f', 'No such file')).toEqual({ ...printed, how: 'notStarted', reason: 'No such file' });
  expect(fields('t', '')).toEqual({ ...printed, how: 'timedOut' });
  expect(fields('m', '')).toEqual({ ...printed, how: 'printedTooMuch' });
  expect(() => fields('?', '')).toThrow('does not contain the result of the program');
});
