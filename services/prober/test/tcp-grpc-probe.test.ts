import { afterEach, describe, expect, test } from '@jest/globals';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { ManualClock } from '@kubus/ports/testing';
import type { Attempt } from '@kubus/probe';
import * as fc from 'fast-check';
import { once } from 'node:events';
import { probeGrpc } from '../src/grpc-probe.ts';
import { HEALTH_CHECK, decodeHealthResponse, encodeHealthRequest } from '../src/health-codec.ts';
import { probeTcp } from '../src/tcp-probe.ts';
import { closeServers, closedPort, serveTcp, signal } from './servers.ts';

const clock = new ManualClock();
const limits = { clock, timeoutMs: 2000, cancelled: new AbortController().signal };
const failed = (output: string): Attempt => ({ result: 'failure', output });

const started: Server[] = [];
afterEach(async () => {
  for (const server of started.splice(0)) server.forceShutdown();
  await closeServers();
});

describe('tcpSocket', () => {
  test('a server that accepts the connection is healthy, and the connection is reset', async () => {
    const ended = signal();
    const errors: unknown[] = [];
    const port = await serveTcp((socket) => {
      socket.once('error', (error: NodeJS.ErrnoException) => errors.push(error.code));
      void once(socket, 'close').then(ended.see, ended.see);
      socket.resume();
    });
    expect(await probeTcp('127.0.0.1', port, limits)).toEqual({ result: 'success', output: '' });
    await ended.seen;
    expect(errors).toEqual(['ECONNRESET']);
  });

  test('a closed port is a failure', async () => {
    const port = await closedPort();
    expect(await probeTcp('127.0.0.1', port, limits)).toEqual(
      failed(`dial tcp 127.0.0.1:${port}: connect: connection refused`),
    );
  });

  test('a connection that is not established in time is a failure', async () => {
    const port = await serveTcp((socket) => socket.resume());
    const attempt = probeTcp('127.0.0.1', port, limits);
    // The timeout passes before the event loop can report the connection.
    await clock.advance(2000);
    expect(await attempt).toEqual(failed(`dial tcp 127.0.0.1:${port}: i/o timeout`));
    expect(clock.waits).toEqual([]);
  });
});

interface Asked {
  service: string;
  userAgent: string | undefined;
}

/** A health service with this answer. */
async function serveHealth(answer: (service: string) => number | { code: number; details: string } | undefined) {
  const asked: Asked[] = [];
  const server = new Server();
  started.push(server);
  const decode = (bytes: Buffer) => {
    const reader = new BinaryReader(bytes);
    return { service: reader.len === 0 ? '' : (reader.tag(), reader.string()) };
  };
  const method = {
    ...{ path: HEALTH_CHECK, requestStream: false as const, responseStream: false as const },
    requestSerialize: ({ service }: { service: string }) => encodeHealthRequest(service),
    requestDeserialize: decode,
    responseSerialize: (value: number) => Buffer.from(new BinaryWriter().tag(1, WireType.Varint).int32(value).finish()),
    responseDeserialize: decodeHealthResponse,
  };
  server.addService(
    { check: method },
    {
      check: (
        call: { request: { service: string }; metadata: { get(name: string): unknown[] } },
        callback: (error: object | null, value?: number) => void,
      ) => {
        const { service } = call.request;
        asked.push({ service, userAgent: String(call.metadata.get('user-agent')[0]) });
        const value = answer(service);
        if (typeof value === 'number') callback(null, value);
        else if (value !== undefined) callback(value);
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return { port, asked };
}

function probe(port: number, service = ''): Promise<Attempt> {
  return probeGrpc({ host: '127.0.0.1', port, service }, limits);
}

describe('grpc', () => {
  test('the request names the service and the user agent', async () => {
    const { port, asked } = await serveHealth(() => 1);
    expect(await probe(port)).toEqual({ result: 'success', output: 'service healthy' });
    await probe(port, 'web');
    expect(asked.map(({ service }) => service)).toEqual(['', 'web']);
    expect(asked[0]?.userAgent).toMatch(/^kube-probe\/1\.36 /);
  });

  test.each([
    [0, 'service unhealthy (responded with "UNKNOWN")'],
    [2, 'service unhealthy (responded with "NOT_SERVING")'],
    [3, 'service unhealthy (responded with "SERVICE_UNKNOWN")'],
    [
      { code: status.NOT_FOUND, details: 'no web' },
      'error: health rpc probe failed: rpc error: code = NotFound desc = no web',
    ],
    [{ code: status.CANCELLED, details: 'no' }, 'error: health rpc probe failed: rpc error: code = Canceled desc = no'],
    [
      { code: status.UNIMPLEMENTED, details: 'no' },
      'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): no',
    ],
  ])('answer %j is a failure', async (answer, output) => {
    const { port } = await serveHealth(() => answer);
    expect(await probe(port)).toEqual(failed(output));
  });

  test('a server without the health service is a failure', async () => {
    const server = new Server();
    started.push(server);
    const { promise, resolve } = Promise.withResolvers<number>();
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_error, bound) => resolve(bound));
    const { output } = await probe(await promise);
    expect(output).toMatch(/^error: this server does not implement the grpc health protocol/);
  });

  test('a closed port is retried until the timeout', async () => {
    const port = await closedPort();
    const attempt = probe(port);
    // The first probe loads the library, so the limit may not be set yet.
    while (clock.waits.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(2000);
    const at = `127.0.0.1:${port}`;
    expect(await attempt).toEqual(
      failed(`timeout: failed to connect service "${at}" within 2s: context deadline exceeded`),
    );
  });

  test('a server that does not answer is a failure', async () => {
    const { seen, see } = signal();
    const { port } = await serveHealth(() => {
      see();
      return undefined;
    });
    const attempt = probe(port);
    await seen;
    await clock.advance(2000);
    expect(await attempt).toEqual(failed('timeout: health rpc did not complete within 2s'));
    expect(clock.waits).toEqual([]);
  });
});

describe('the health messages', () => {
  test.each([
    ['', ''],
    ['web', '0a03776562'],
    ['ü', '0a02c3bc'],
  ])('request for %j', (service, hex) => expect(encodeHealthRequest(service).toString('hex')).toBe(hex));

  test.each([
    ['', 0],
    ['0801', 1],
    ['0802', 2],
    ['12026869180708031a00', 3],
  ])('response %j', (hex, expected) => expect(decodeHealthResponse(Buffer.from(hex, 'hex'))).toBe(expected));

  test('arbitrary bytes are either decoded or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 32 }), (bytes) => {
        try {
          expect(Number.isInteger(decodeHealthResponse(bytes))).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ message: expect.any(String) });
        }
      }),
    );
  });
});
