import { constants } from 'node:os';
import { type Socket, connect } from 'node:net';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import type { SupervisedProcess } from '../processes/supervisor.ts';

/** How often the socket of a container is tried, in milliseconds. */
const RETRY_MS = 100;

/**
 * The process of a service in a container, whose process 1 (native/keep-service.c) restarts it when it ends. Resolves when it is running.
 *
 * @param control the control socket of process 1
 * @param signal cancels the wait, which then rejects
 */
export async function findRemoteProcess(control: string, signal: AbortSignal): Promise<SupervisedProcess> {
  for (;;) {
    const socket = await connectTo(control);
    const found = socket === undefined ? undefined : await untilStarted(socket);
    if (found !== undefined) return found;
    await wait(RETRY_MS, undefined, { signal });
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

/** Undefined when the container ends before its service is running. */
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
  const send = (line: string) => socket.write(`${line}\n`);
  const lines = createInterface({ input: socket });
  // Errors of the socket are followed by `close`.
  lines.on('error', () => undefined);
  lines.on('line', (line) => {
    const [what, number = '', kind = '', status = ''] = line.split(' ');
    if (what === 'started' && pid === undefined) {
      pid = Number(number);
      resolve({
        pid,
        exited: exited.promise,
        signal: (name) => {
          if (running) send(`signal ${constants.signals[name]}`);
          return Promise.resolve(running);
        },
        end: async () => {
          send('away');
          await exited.promise;
        },
      });
    } else if (what === 'ended' && Number(number) === pid) {
      end(kind === 'signal' ? signalName(Number(status)) : `code ${status}`);
    }
  });
  socket.once('close', () => end('unknown'));
  // The service may have been sent away by an earlier launcher.
  send('back');
  return promise;
}

function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}
