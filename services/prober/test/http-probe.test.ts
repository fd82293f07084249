import { afterEach, describe, expect, test } from '@jest/globals';
import type { HttpGetAction } from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { type Attempt, MAX_OUTPUT, httpRequest } from '@kubus/probe';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer } from 'node:https';
import { probeHttp } from '../src/http-probe.ts';
import { certificate, privateKey } from './certificate.ts';
import { closeServers, closedPort, listen, serveHttp, serveTcp, signal } from './servers.ts';

afterEach(closeServers);

const clock = new ManualClock();

function probe(port: number, action: Partial<HttpGetAction> = {}): Promise<Attempt> {
  const request = httpRequest({ port, ...action }, {}, '127.0.0.1');
  return probeHttp(request, { clock, timeoutMs: 1000, cancelled: new AbortController().signal });
}

const failed = (output: string): Attempt => ({ result: 'failure', output });

test('every HTTP status has its result', async () => {
  const port = await serveHttp((request, response) => response.writeHead(Number(request.url?.slice(1))).end('body'));
  const results: Record<string, number> = {};
  for (let status = 200; status < 600; status++) {
    const { result } = await probe(port, { path: `/${status}` });
    const key = `${Math.floor(status / 100)}xx ${result}`;
    results[key] = (results[key] ?? 0) + 1;
  }
  expect(results).toEqual({ '2xx success': 100, '3xx warning': 100, '4xx failure': 100, '5xx failure': 100 });
});

test('the request has the reference’s headers', async () => {
  const asked: unknown[] = [];
  const port = await serveHttp((request, response) => {
    asked.push([request.method, request.url, request.rawHeaders]);
    response.end();
  });
  const httpHeaders = [
    { name: 'x-one', value: '1' },
    { name: 'X-One', value: '2' },
  ];
  await probe(port, { path: '/a%20b?c=d', httpHeaders });
  await probe(port, {
    httpHeaders: [
      { name: 'Host', value: 'web.example' },
      { name: 'Accept', value: '' },
    ],
  });
  const agent = ['User-Agent', 'kube-probe/1.36'];
  const ones = ['X-One', '1', 'X-One', '2'];
  expect(asked).toEqual([
    ['GET', '/a%20b?c=d', ['Host', `127.0.0.1:${port}`, ...agent, ...ones, 'Accept', '*/*', 'Connection', 'close']],
    ['GET', '/', ['Host', 'web.example', ...agent, 'Connection', 'close']],
  ]);
});

test('a header that cannot be sent is a failure', async () => {
  const port = await serveHttp((_request, response) => response.end());
  const { result, output } = await probe(port, { httpHeaders: [{ name: 'X', value: 'a\nb' }] });
  expect(result).toBe('failure');
  expect(output).toMatch(`Get "http://127.0.0.1:${port}/": `);
});

describe('TLS', () => {
  test('certificates are not verified', async () => {
    const port = await listen(
      createServer({ cert: certificate, key: privateKey }, (_request, response) => response.end('fine')),
    );
    expect(await probe(port, { scheme: 'HTTPS' })).toEqual({ result: 'success', output: 'fine' });
    const plain = await probe(port);
    expect(plain.output).toMatch(/^Get "http:\/\/127\.0\.0\.1:\d+\/": /);
    expect(plain.result).toBe('failure');
  });

  test('a server without TLS is a failure', async () => {
    const port = await serveHttp((_request, response) => response.end());
    expect(await probe(port, { scheme: 'HTTPS' })).toEqual(
      failed(`Get "https://127.0.0.1:${port}/": http: server gave HTTP response to HTTPS client`),
    );
  });
});

describe('redirects', () => {
  const redirecting = (location: string, status = 302) =>
    serveHttp((request, response) => {
      if (request.url === '/') response.writeHead(status, { location }).end('moved');
      else response.writeHead(request.url === '/ok' ? 200 : 500).end(`at ${request.headers.host ?? ''}`);
    });

  test.each([301, 302, 303, 307, 308])('with %i on the same host are followed', async (status) => {
    const port = await redirecting('/ok', status);
    expect(await probe(port)).toEqual({ result: 'success', output: `at 127.0.0.1:${port}` });
  });

  test('to a failing path are a failure', async () => {
    const port = await redirecting('/bad');
    expect(await probe(port)).toEqual(failed('HTTP probe failed with statuscode: 500'));
  });

  test('to another port of the host are followed', async () => {
    const other = await serveHttp((request, response) => response.end(`${request.headers.host ?? ''} other`));
    const port = await redirecting(`http://127.0.0.1:${other}/x`);
    expect(await probe(port)).toEqual({ result: 'success', output: `127.0.0.1:${other} other` });
  });

  test.each([
    ['/ok', 'at web.example'],
    ['absolute', 'at 127.0.0.1'],
  ])('to %s keep the user’s own Host unless they name another', async (location, expected) => {
    let target = location;
    const port = await serveHttp((request, response) => {
      if (request.url === '/') response.writeHead(302, { location: target }).end();
      else response.end(`at ${request.headers.host ?? ''}`);
    });
    if (location === 'absolute') target = `http://127.0.0.1:${port}/ok`;
    const { output } = await probe(port, { httpHeaders: [{ name: 'Host', value: 'web.example' }] });
    expect(output.replace(/:\d+$/, '')).toBe(expected);
  });

  test.each([
    ['elsewhere', 'http://elsewhere.example/'],
    ['nowhere', ''],
  ])('%s are not followed', async (_what, location) => {
    const port = await redirecting(location);
    const output = 'Probe terminated redirects, Response body: moved';
    expect(await probe(port)).toEqual({ result: 'warning', output });
  });

  test.each([
    ['http://[', (port: number) => `Get "http://127.0.0.1:${port}/": failed to parse Location header "http://["`],
    ['ftp://127.0.0.1/x', () => 'Get "ftp://127.0.0.1/x": unsupported protocol scheme "ftp"'],
  ])('to %s are a failure', async (location, message) => {
    const port = await redirecting(location);
    expect(await probe(port)).toEqual(failed(message(port)));
  });

  test('without an end stop after ten requests', async () => {
    let requests = 0;
    const port = await serveHttp((_request, response) => {
      requests += 1;
      response.writeHead(302, { location: '/' }).end();
    });
    expect(await probe(port)).toEqual(failed('Get "/": stopped after 10 redirects'));
    expect(requests).toBe(10);
  });
});

describe('bodies', () => {
  test('are read up to the limit', async () => {
    const { seen, see } = signal();
    const port = await serveHttp((_request, response) => {
      response.once('close', see);
      const more = () => {
        while (response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    });
    expect(await probe(port)).toEqual({ result: 'success', output: 'x'.repeat(MAX_OUTPUT) });
    await seen;
  });

  test('of failures are not waited for', async () => {
    const port = await serveHttp((_request, response) => response.writeHead(500).write('secret'));
    expect(await probe(port)).toEqual(failed('HTTP probe failed with statuscode: 500'));
  });

  test('that break off leave the probe without a result', async () => {
    const port = await serveHttp((_request, response) => {
      response.writeHead(200, { 'content-length': '10' }).write('x', () => response.destroy());
    });
    await expect(probe(port)).rejects.toMatchObject({ state: 'failure', message: 'unexpected EOF' });
  });

  test('that do not end in time leave the probe without a result', async () => {
    const headers = signal();
    subscribe('http.client.response.finish', headers.see);
    try {
      const attempt = probe(await serveHttp((_request, response) => response.writeHead(200).write('x')));
      const outcome = expect(attempt).rejects.toMatchObject({ state: 'failure', code: 'probe-errored' });
      await headers.seen;
      await clock.advance(1000);
      await outcome;
      await expect(attempt).rejects.toThrow('Client.Timeout or context cancellation while reading body');
    } finally {
      unsubscribe('http.client.response.finish', headers.see);
    }
    expect(clock.waits).toEqual([]);
  });
});

describe('a server that', () => {
  test('does not exist is a failure', async () => {
    const port = await closedPort();
    const at = `127.0.0.1:${port}`;
    expect(await probe(port)).toEqual(failed(`Get "http://${at}/": dial tcp ${at}: connect: connection refused`));
  });

  test('ends the connection is a failure', async () => {
    const port = await serveTcp((socket) => socket.end());
    expect(await probe(port)).toEqual(failed(`Get "http://127.0.0.1:${port}/": EOF`));
  });

  test('speaks another protocol is a failure', async () => {
    const port = await serveTcp((socket) => socket.end('220 mail.example\r\n'));
    const { result, output } = await probe(port);
    expect(result).toBe('failure');
    expect(output).toMatch('malformed HTTP response');
  });

  test('switches the protocol is a failure', async () => {
    const port = await serveTcp((socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
    expect(await probe(port)).toEqual(failed('HTTP probe failed with statuscode: 101'));
  });

  test('does not answer in time is a failure', async () => {
    const { seen, see } = signal();
    const port = await serveHttp(see);
    const attempt = probe(port);
    await seen;
    await clock.advance(999);
    expect(clock.waits).toEqual([1]);
    await clock.advance(1);
    const why = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
    expect(await attempt).toEqual(failed(`Get "http://127.0.0.1:${port}/": ${why}`));
  });
});

test('a cancelled probe closes its connection', async () => {
  const asked = signal();
  const closed = signal();
  const port = await serveHttp((request) => {
    request.once('close', closed.see);
    asked.see();
  });
  const controller = new AbortController();
  const request = httpRequest({ port }, {}, '127.0.0.1');
  const attempt = probeHttp(request, { clock, timeoutMs: 1000, cancelled: controller.signal });
  await asked.seen;
  controller.abort();
  await Promise.all([attempt, closed.seen]);
  expect(clock.waits).toEqual([]);
});
