import { afterEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type IncomingMessage, type RequestListener, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHookRequests } from './http-hook.ts';

const hooks = createHookRequests();
const servers: Server[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

async function listen<S extends Server>(server: S): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A server that answers with `answer` and keeps the requests that it received. */
async function serve(answer: RequestListener): Promise<{ port: number; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = [];
  const port = await listen(
    createServer((request, response) => {
      asked.push(request);
      answer(request, response);
    }),
  );
  return { port, asked };
}

function get(
  port: number,
  change: Partial<Parameters<typeof hooks.get>[0]> = {},
  signal = new AbortController().signal,
) {
  return hooks.get({ scheme: 'http', host: '127.0.0.1', port, path: '/', headers: [], ...change }, signal);
}

describe('a request', () => {
  test('has the reference’s user agent and the configured headers', async () => {
    const { port, asked } = await serve((_request, response) => response.end());
    const headers = [
      { name: 'Host', value: 'pod.example' },
      { name: 'X-Twice', value: 'a' },
      { name: 'X-Twice', value: 'b' },
    ];
    expect(await get(port, { path: 'bye?now=1', headers })).toEqual({ fellBack: false });
    expect(asked[0]?.url).toBe('/bye?now=1');
    expect(asked[0]?.headers).toMatchObject({
      host: 'pod.example',
      'user-agent': 'kube-lifecycle/1.36',
      accept: '*/*',
      'x-twice': 'a, b',
    });
    await get(port, {
      headers: [
        { name: 'Accept', value: '' },
        { name: 'User-Agent', value: 'mine' },
      ],
    });
    expect(asked[1]?.headers).toMatchObject({ 'user-agent': 'mine' });
    expect(asked[1]?.headers).not.toHaveProperty('accept');
  });

  test.each([204, 404, 500])('succeeds with status %i', async (status) => {
    const { port } = await serve((_request, response) => response.writeHead(status).end());
    expect(await get(port)).toEqual({ fellBack: false });
  });

  test('follows redirects on its own host only', async () => {
    const { port, asked } = await serve((request, response) => {
      if (request.url === '/') response.writeHead(302, { location: '/next' }).end();
      else response.writeHead(307, { location: `http://localhost:${port}/elsewhere` }).end();
    });
    await get(port);
    expect(asked.map(({ url }) => url)).toEqual(['/', '/next']);
  });

  test('stops after ten redirects', async () => {
    const { port, asked } = await serve((_request, response) => response.writeHead(301, { location: '/' }).end());
    await expect(get(port)).rejects.toThrow('stopped after 10 redirects');
    expect(asked).toHaveLength(11);
  });

  test('without an answer fails', async () => {
    const { port } = await serve((request) => request.socket.destroy());
    await expect(get(port)).rejects.toThrow('socket hang up');
  });

  test('is aborted with its signal', async () => {
    const reached = Promise.withResolvers<undefined>();
    const { port } = await serve(() => reached.resolve(undefined));
    const waiting = new AbortController();
    const request = get(port, {}, waiting.signal);
    await reached.promise;
    waiting.abort();
    await expect(request).rejects.toThrow('aborted');
  });
});

describe('a request over https', () => {
  test('trusts every certificate', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kubus-hook-'));
    folders.push(folder);
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
    const arguments_ = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
    execFileSync('openssl', [...arguments_, '-subj', '/CN=other', '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const asked: (string | undefined)[] = [];
    const port = await listen(
      createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
        asked.push(request.url);
        response.end();
      }),
    );
    expect(await get(port, { scheme: 'https', path: '/tls' })).toEqual({ fellBack: false });
    expect(asked).toEqual(['/tls']);
  });

  test('to a server without TLS is repeated over http, without secret headers', async () => {
    const { port, asked } = await serve((_request, response) => response.end());
    const headers = [{ name: 'Authorization', value: 'Bearer x' }];
    expect(await get(port, { scheme: 'https', headers })).toEqual({ fellBack: true });
    expect(asked.map(({ headers: { authorization } }) => authorization)).toEqual([undefined]);
  });

  test('is not repeated over http when no server answers', async () => {
    const { port } = await serve((_request, response) => response.end());
    const [server] = servers.splice(0);
    await new Promise((resolve) => server?.close(resolve));
    await expect(get(port, { scheme: 'https' })).rejects.toThrow('ECONNREFUSED');
  });
});
