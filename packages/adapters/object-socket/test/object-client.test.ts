import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type Server, createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ObjectVersion } from '@kubus/contracts';
import { ObjectClient, ObjectError } from '../src/index.ts';

const secret: ObjectVersion = { kind: 'Secret', namespace: 'default', name: 'sec', version: '7' };
const metadata = { namespace: 'default', name: 'sec', uid: 'u', resourceVersion: '7' };

let folder: string;
let socket: string;
let server: Server;
/** The server's responses, and the requested paths. */
let answer: { status: number; body: string };
let asked: (string | undefined)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-objects-'));
  socket = join(folder, 'objects.sock');
  asked = [];
  server = createServer(({ url }, response) => {
    asked.push(url);
    response.writeHead(answer.status).end(answer.body);
  });
  await once(server.listen(socket), 'listening');
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

function read(body: unknown, object = secret, status = 200) {
  answer = { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
  return new ObjectClient(socket).read(object);
}

describe('an object', () => {
  test('of a Secret has bytes and its type', async () => {
    const data = { k: Buffer.from([0xff, 0]).toString('base64') };
    const type = 'kubernetes.io/dockerconfigjson';
    const found = await read({ apiVersion: 'v1', kind: 'Secret', metadata, type, data });
    expect(found).toEqual({
      uid: 'u',
      version: '7',
      type,
      values: new Map([['k', Buffer.from([0xff, 0])]]),
      binaryValues: new Map(),
    });
    expect(asked).toEqual(['/objects/Secret/default/sec?version=7']);
  });

  test('of a ConfigMap has texts and, separately, binary data', async () => {
    const object = { kind: 'ConfigMap', metadata, data: { k: 'grün' }, binaryData: { b: 'AA==' } };
    const { type, values, binaryValues } = await read(object, { ...secret, kind: 'ConfigMap' });
    expect([type, values.get('k')?.toString(), values.size]).toEqual([undefined, 'grün', 1]);
    expect(binaryValues).toEqual(new Map([['b', Buffer.from([0])]]));
  });

  test('may be empty', async () => {
    expect((await read({ kind: 'Secret', metadata })).values.size).toBe(0);
  });

  test('is requested by a path that no name can escape', async () => {
    await read(
      { kind: 'Secret', metadata: { ...metadata, resourceVersion: '1&a' } },
      { ...secret, name: '../a?', version: '1&a' },
    );
    expect(asked).toEqual(['/objects/Secret/default/..%2Fa%3F?version=1%26a']);
  });
});

describe('no object is returned', () => {
  test.each([404, 409])('because the object has changed: %d', async (status) => {
    await expect(read({ message: 'no' }, secret, status)).rejects.toMatchObject({ code: 'ObjectChanged' });
  });

  test.each<[string, unknown, number]>([
    ['a failure', 's3cret', 500],
    ['no JSON', 's3cret', 200],
    ['another document', { kind: 'Secret', metadata, data: { k: 's3cret!' } }, 200],
    ['another version', { kind: 'Secret', metadata: { ...metadata, resourceVersion: '8' }, data: {} }, 200],
  ])('because of %s, whose content is not shown', async (_what, body, status) => {
    const error = await read(body, secret, status).catch((thrown: unknown) => thrown as ObjectError);
    expect(error).toBeInstanceOf(ObjectError);
    expect(error).toMatchObject({ code: 'ObjectsUnavailable' });
    expect(error).not.toHaveProperty('cause');
    expect((error as ObjectError).message).not.toContain('s3cret');
  });

  test('because no service listens', async () => {
    const client = new ObjectClient(join(folder, 'nobody.sock'));
    await expect(client.read(secret)).rejects.toMatchObject({ code: 'ObjectsUnavailable' });
  });

  test('because the response is cut off', async () => {
    server.removeAllListeners('request');
    server.on('request', (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{');
      response.socket?.destroy();
    });
    await expect(new ObjectClient(socket).read(secret)).rejects.toMatchObject({ code: 'ObjectsUnavailable' });
  });
});
