import { constants } from 'node:os';
import { type Socket, connect } from 'node:net';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import type { SupervisedProcess } from '../supervisor.ts';

/** How often a container that does not answer is looked for, in milliseconds: nobody tells when one is there. */
const LOOK_MS = 100;

/**
 * The process of a service in a container, whose process 1 (native/keep-service.c) starts it again when it ends. Resolves when
 * it runs.
 *
 * @param control the socket of that process 1
 * @param signal ends the search for it
 */
export async function findRemoteProcess(control: string, signal: AbortSignal): Promise<SupervisedProcess> {
  for (;;) {
    const socket = await connectTo(control);
    const found = socket === undefined ? undefined : await untilStarted(socket);
    if (found !== undefined) return found;
    await wait(LOOK_MS, undefined, { signal });
  }
}

async function connectTo(control: string): Promise<Socket | undefined> {
  const socket = connect(control);
  try {
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    return socket;
  } catch {
    return undefined;
  }
}

/** Undefined when the container ends before its service runs. */
function untilStarted(socket: Socket): Promise<SupervisedProcess | undefined> {
  const { promise, resolve } = Promise.withResolvers<SupervisedProcess | undefined>();
  const exited = Promise.withResolvers<string>();
  let pid: number | undefined;
  let running = true;
  const end = (status: string) => {
    running = false;
    resolve(undefined);
    exited.resolve(status);
    socket.destroy();
  };
  const say = (line: string) => socket.write(`${line}\n`);
  const lines = createInterface({ input: socket });
  // It repeats the errors of its socket; `close` follows each.
  lines.on('error', () => undefined);
  lines.on('line', (line) => {
    const [what, number = '', kind = '', status = ''] = line.split(' ');
    if (what === 'started' && pid === undefined) {
      pid = Number(number);
      resolve({
        pid,
        exited: exited.promise,
        signal: (name) => {
          if (running) say(`signal ${constants.signals[name]}`);
          return Promise.resolve(running);
        },
        end: async () => {
          say('away');
          await exited.promise;
        },
      });
    } else if (what === 'ended' && Number(number) === pid) {
      end(kind === 'signal' ? signalName(Number(status)) : `code ${status}`);
    }
  });
  socket.once('close', () => end('unknown'));
  // Whoever asks for it wants it to run.
  say('back');
  return promise;
}

function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}
