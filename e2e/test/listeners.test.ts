// Every socket on which a node listens: none is unknown, and each server of HTTP has bounds before authentication (rule:bounds). That slow
// clients are ended takes minutes, which is in the long form.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type TestNode, isSoak, startNode } from '@kubus/harness';
import { TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { readRecords, runCommand } from '@kubus/launcher';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { basename, dirname } from 'node:path';
import { type TLSSocket, connect as connectSecurely } from 'node:tls';

/** The sockets whose servers speak HTTP, besides the health ports of services. */
const servers = ['healthz :10248', 'api.sock', 'objects.sock', 'observatory.sock'];
const secure = 'node API :10250';
/** Sockets of root alone with other protocols. */
const others = ['cni.sock', 'device-plugins/kubelet.sock', 'pod-resources/kubelet.sock'];
/** Sockets of programs that are not services. */
const programs = [
  ...['api-relay :6443', 'containerd', 'containerd.sock', 'containerd.sock.ttrpc', 'cri-relay', 'nats-server :4222'],
  'tunnel.sock',
];
const HEADER = 'GET / HTTP/1.1\r\nHost: x\r\nX: ';
/** Part of a header that is too long: no server reads more than 256 KiB. */
const LONG = 'x'.repeat(8 * 1024);
/** Headers have 30 s and whole requests 60 s, or 300 s where recordings are uploaded, which is checked every 30 s. */
const SLOW_LIMIT_MS = 400_000;

interface Listener {
  readonly name: string;
  readonly connect: () => Socket;
}

let api: TestApiServer;
let node: TestNode;
let listeners: Listener[];

beforeAll(async () => {
  api = await TestApiServer.start();
  node = await startNode({ kubeconfig: (name) => api.kubeconfig(nodeUser(name)), observatory: true });
  // node-api announces itself when all of its servers listen; the node counts as started before.
  await node.watch.until('the announcement of node-api', () => node.watch.instance('node-api-0'));
  listeners = await listenersOf(node);
});
afterAll(async () => {
  await (node as TestNode | undefined)?.stop();
  await (api as TestApiServer | undefined)?.close();
});

/** What listens in the node's network namespace, as the kernel says. */
async function listenersOf({ dir, tunnel }: TestNode): Promise<Listener[]> {
  const whats = new Map((await readRecords(dir.processes)).map(({ pid, what }) => [pid, what]));
  const lines = (await runCommand(node.inside(['ss', '-H', '-l', '-n', '-t', '-x', '-p']))).trim().split('\n');
  return lines.map((line) => {
    const [, , , , local = ''] = line.split(/\s+/);
    if (local.startsWith('/')) return { name: nameOf(local), connect: () => connect(pathOf(local)) };
    const port = Number(local.split(':').at(-1));
    const what = whats.get(Number(/pid=(\d+)/.exec(line)?.[1])) ?? 'unknown';
    const known = { 10248: 'healthz', 10250: 'node API', 6443: what, 4222: what }[port];
    const health = what.endsWith('-0') ? `health of ${what}` : what;
    return { name: known === undefined ? health : `${known} :${port}`, connect: () => tunnel.connect(port) };
  });
}

/** A socket is made under another name, and then renamed. */
const pathOf = (local: string) => local.replace(/\.new\/s$/, '');

function nameOf(local: string): string {
  const path = pathOf(local);
  const file = basename(path);
  if (file === 'kubelet.sock') return `${basename(dirname(path))}/${file}`;
  return file.startsWith('cri-relay-') ? 'cri-relay' : file;
}

const isHttp = ({ name }: Listener) => name.startsWith('health of ') || servers.includes(name) || name === secure;

/** A connection for the bytes of HTTP. */
async function open({ name, connect: connectTo }: Listener): Promise<Socket | TLSSocket> {
  const plain = connectTo();
  const socket = name === secure ? connectSecurely({ socket: plain, rejectUnauthorized: false }) : plain;
  socket.on('error', () => undefined);
  if (name === secure) await once(socket, 'secureConnect');
  return socket;
}

interface Sending {
  readonly begin: string;
  readonly piece: string;
  readonly everyMs: number;
}

/** Sends the beginning of a request and then piece after piece; resolves with the answer when the server has ended the connection. */
async function send(listener: Listener, { begin, piece, everyMs }: Sending): Promise<string> {
  const socket = await open(listener);
  let answer = '';
  socket.on('data', (bytes: Buffer) => (answer += bytes.toString('latin1')));
  socket.write(begin);
  const sending = setInterval(() => socket.write(piece), everyMs);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('close', () => resolve());
      const late = () => reject(new Error(`${listener.name} does not end this client`));
      setTimeout(late, SLOW_LIMIT_MS).unref();
    });
  } finally {
    clearInterval(sending);
    socket.destroy();
  }
  return answer;
}

test('nothing listens but what is known', () => {
  const services = node.watch.instances.filter((one) => node.watch.instance(one)?.http !== undefined);
  const known = [...services.map((instance) => `health of ${instance}`), ...servers, secure, ...others, ...programs];
  expect(listeners.map(({ name }) => name).sort()).toEqual(known.sort());
});

test('a header without end is refused by each server of HTTP before it is authenticated', async () => {
  const http = listeners.filter(isHttp);
  const answers = await Promise.all(
    http.map(async (listener) => [listener.name, await send(listener, { begin: HEADER, piece: LONG, everyMs: 5 })]),
  );
  // The connection ends in every case; what was still being sent then may have cost the answer.
  for (const [name, answer] of answers) {
    expect([name, answer]).toEqual([name, expect.stringMatching(/^(HTTP\/1.1 431 |$)/)]);
  }
});

if (isSoak) {
  test(
    'slow headers and slow bodies are ended by each server of HTTP',
    async () => {
      const begins = [HEADER, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n'];
      await Promise.all(
        listeners
          .filter(isHttp)
          .flatMap((one) => begins.map((begin) => send(one, { begin, piece: 'x', everyMs: 1_000 }))),
      );
    },
    2 * SLOW_LIMIT_MS,
  );
}
