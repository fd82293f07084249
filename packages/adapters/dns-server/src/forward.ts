import { createSocket } from 'node:dgram';
import { isIPv6, connect } from 'node:net';
import { DNS_PORT, framed, takeFrame } from './frames.ts';
import { answers } from './message.ts';

/** How long one resolver has for an answer, in milliseconds. Clients wait for about 5 s. */
const ANSWER_MS = 2_000;

/** How a question came, and goes on. */
export type Transport = 'udp' | 'tcp';

/** The answer of the first resolver that has one, in the order of their configuration; undefined if none has. The question goes on as it came. */
export async function forward(
  question: Buffer,
  transport: Transport,
  resolvers: readonly string[],
  port: number = DNS_PORT,
): Promise<Buffer | undefined> {
  const ask = transport === 'udp' ? overUdp : overTcp;
  for (const resolver of resolvers) {
    const answer = await ask(question, resolver, port);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** A socket of its own has a port of its own, which makes answers of others hard to guess. */
async function overUdp(question: Buffer, address: string, port: number): Promise<Buffer | undefined> {
  const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  const timer = setTimeout(() => resolve(undefined), ANSWER_MS);
  socket.on('error', () => resolve(undefined));
  socket.on('message', (answer) => {
    if (answers(answer, question)) resolve(answer);
  });
  // Connected, it receives from this resolver alone, and is refused at once where there is none.
  socket.on('connect', () => socket.send(question, (error) => error && resolve(undefined)));
  socket.connect(port, address);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}

async function overTcp(question: Buffer, host: string, port: number): Promise<Buffer | undefined> {
  const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
  const socket = connect({ host, port });
  const timer = setTimeout(() => resolve(undefined), ANSWER_MS);
  let received = Buffer.alloc(0);
  socket.on('error', () => resolve(undefined));
  socket.on('close', () => resolve(undefined));
  socket.on('data', (part) => {
    received = Buffer.concat([received, part]);
    const answer = takeFrame(received)?.frame;
    if (answer !== undefined) resolve(answers(answer, question) ? answer : undefined);
  });
  socket.write(framed(question));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
