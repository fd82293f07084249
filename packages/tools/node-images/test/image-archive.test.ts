import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type BlobStatus, BlobProgress, readArchiveContent } from '../src/index.ts';
import { tar } from '../src/tar.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubus-images-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** A tar file of these documents, by path. */
async function archive(documents: Readonly<Record<string, unknown>>): Promise<Buffer> {
  return tar(
    Object.entries(documents).map(([path, value]) => {
      return { type: 'file' as const, path, content: typeof value === 'string' ? value : JSON.stringify(value) };
    }),
  );
}

async function contentOf(bytes: Buffer): ReturnType<typeof readArchiveContent> {
  const file = join(dir, 'archive.tar');
  await writeFile(file, bytes);
  return readArchiveContent(file);
}

const fullName = (name: string) => ({ annotations: { 'io.containerd.image.name': name } });
const refName = (name: string) => ({ annotations: { 'org.opencontainers.image.ref.name': name } });
const on = (architecture: string) => ({ platform: { os: 'linux', architecture } });
const digestOf = (document: unknown) => `sha256:${createHash('sha256').update(JSON.stringify(document)).digest('hex')}`;
const blob = (document: unknown) => ({ [`blobs/${digestOf(document).replace(':', '/')}`]: document });

const config = { os: 'linux', architecture: 'arm64' };
const manifest = { config: { digest: digestOf(config) } };
const index = { manifests: [on('amd64'), on('arm64'), { platform: { os: 'unknown', architecture: 'unknown' } }] };

test.each<[string, Record<string, unknown>, { names: string[]; count: number; platforms: string[] }]>([
  [
    'the index of an OCI archive names image and platforms',
    {
      'index.json': {
        manifests: [
          { ...fullName('r.io/a:1'), ...on('amd64') },
          { ...fullName('r.io/a:1'), ...on('arm64') },
        ],
      },
    },
    { names: ['r.io/a:1'], count: 1, platforms: ['linux/amd64', 'linux/arm64'] },
  ],
  [
    'platforms are in an index within the index; attestations have none',
    { ...blob(index), 'index.json': { manifests: [{ ...fullName('r.io/a:1'), digest: digestOf(index) }] } },
    { names: ['r.io/a:1'], count: 1, platforms: ['linux/amd64', 'linux/arm64'] },
  ],
  [
    'a platform is in the configuration of the image',
    {
      ...blob(config),
      ...blob(manifest),
      'index.json': { manifests: [{ ...refName('r.io/a:1'), digest: digestOf(manifest) }] },
    },
    { names: ['r.io/a:1'], count: 1, platforms: ['linux/arm64'] },
  ],
  [
    'a tag alone is no name',
    { 'index.json': { manifests: [{ ...refName('1.0'), ...on('amd64') }] } },
    { names: [], count: 1, platforms: ['linux/amd64'] },
  ],
  [
    'docker save writes a list of images',
    {
      'c.json': config,
      'manifest.json': [
        { Config: 'c.json', RepoTags: ['a:1', 'a:2'] },
        { Config: 'missing.json', RepoTags: null },
      ],
    },
    { names: ['a:1', 'a:2'], count: 2, platforms: ['linux/arm64'] },
  ],
  [
    'newer versions of docker write both',
    {
      'index.json': { manifests: [{ ...fullName('docker.io/library/a:1'), ...on('amd64') }] },
      'manifest.json': [{ RepoTags: ['a:1'] }],
    },
    { names: ['docker.io/library/a:1'], count: 1, platforms: ['linux/amd64'] },
  ],
  ['an empty index has nothing', { 'index.json': {} }, { names: [], count: 1, platforms: [] }],
])('%s', async (_what, documents, expected) => {
  const bytes = await archive(documents);
  expect(await contentOf(bytes)).toEqual(expected);
  expect(await contentOf(gzipSync(bytes))).toEqual(expected);
});

describe('an archive that cannot be used is refused', () => {
  test.each<[string, () => Promise<Buffer>, string]>([
    [
      'without a list of images',
      () => archive({ 'layer.tar': 'x' }),
      'it has neither index.json (OCI) nor manifest.json (docker save)',
    ],
    ['which is empty', () => Promise.resolve(Buffer.alloc(0)), 'it has neither'],
    ['which is no tar file', () => Promise.resolve(Buffer.alloc(2_000, 'a')), 'it cannot be read: '],
    [
      'which is cut off',
      async () => gzipSync(await archive({ 'index.json': {} })).subarray(0, 40),
      'it cannot be read: ',
    ],
    ['whose index is no JSON', () => archive({ 'index.json': '{' }), 'it cannot be read: '],
    ['whose index is too large', () => archive({ 'index.json': ' '.repeat(2 * 1024 * 1024) }), 'it has neither'],
  ])('%s', async (_what, bytes, message) => {
    await expect(contentOf(await bytes())).rejects.toMatchObject({
      code: 'BadArchive',
      message: expect.stringContaining(message) as unknown,
    });
  });

  test('whatever its documents contain', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('index.json', 'manifest.json'), fc.json(), async (name, text) => {
        const outcome = await contentOf(await archive({ [name]: text })).catch((error: unknown) => error);
        expect(outcome).toMatchObject(outcome instanceof Error ? { code: 'BadArchive' } : { names: [] });
      }),
      { numRuns: 50 },
    );
  });
});

test('the progress of a pull never goes back, and ends with all bytes', () => {
  const blobs = fc.array(fc.record({ ref: fc.uuid(), total: fc.nat(1_000) }), { maxLength: 5 });
  fc.assert(
    fc.property(blobs, fc.array(fc.nat(100), { maxLength: 20 }), (all, steps) => {
      const progress = new BlobProgress();
      let percent = 0;
      let before = 0;
      for (const step of steps) {
        percent = Math.min(100, percent + step);
        // A blob that has arrived is not listed any more.
        const listed: BlobStatus[] =
          percent === 100
            ? []
            : all.map(({ ref, total }) => ({ ref, total, offset: Math.floor((total * percent) / 100) }));
        const { arrived, total } = progress.update(listed);
        expect(arrived).toBeGreaterThanOrEqual(before);
        expect(arrived).toBeLessThanOrEqual(total);
        before = arrived;
      }
      const { arrived, total } = progress.update([]);
      expect(arrived).toBe(total);
    }),
  );
});
