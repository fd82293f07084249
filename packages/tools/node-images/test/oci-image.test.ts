import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ImageSpec, buildImage } from '../src/oci-image.ts';
import { readArchive } from './read-archive.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubus-images-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const spec: ImageSpec = {
  reference: 'example.test/app:1',
  files: [
    { type: 'file', path: 'opt/app/run', mode: 0o755, content: '#!/bin/sh\n', uid: 7, gid: 8 },
    { type: 'symlink', path: 'opt/app/start', target: 'run' },
  ],
  user: '7:8',
  entrypoint: ['/opt/app/run'],
  command: ['--fast'],
  env: { A: '1', B: 'two=2' },
  workingDir: '/opt',
  exposedPorts: ['8080/tcp'],
  stopSignal: 'SIGUSR1',
  labels: { team: 'x' },
  volumes: ['/data'],
};

describe('an image', () => {
  test('is byte-identical in each build, named by its digest, and written once', async () => {
    const first = await buildImage(spec, join(dir, 'a'));
    const second = await buildImage(spec, join(dir, 'b'));
    expect({ ...second, archive: '' }).toEqual({ ...first, archive: '' });
    expect(await readFile(second.archive)).toEqual(await readFile(first.archive));

    const { ino } = await stat(first.archive);
    await Promise.all([buildImage(spec, join(dir, 'a')), buildImage(spec, join(dir, 'a'))]);
    expect((await stat(first.archive)).ino).toBe(ino);
    expect(await readdir(join(dir, 'a'))).toHaveLength(1);
  });

  test('has another digest when its content or configuration differs', async () => {
    const images = await Promise.all([
      buildImage(spec, dir),
      buildImage({ ...spec, user: '9' }, dir),
      buildImage({ ...spec, files: [] }, dir),
    ]);
    expect(new Set(images.map((image) => image.digest)).size).toBe(3);
    expect(new Set(images.map((image) => image.archive)).size).toBe(3);
  });

  test('contains the blobs whose digests it lists', async () => {
    const image = await buildImage(spec, dir);
    const { manifestDigests, manifest, blob } = readArchive(image.archive);
    expect(manifestDigests).toEqual([image.digest]);
    expect(manifest.config.digest).toBe(image.id);
    for (const { digest, size } of [manifest.config, ...manifest.layers]) {
      const content = blob(digest);
      expect(content).toHaveLength(size);
      expect(`sha256:${createHash('sha256').update(content).digest('hex')}`).toBe(digest);
    }
  });

  test('carries its configuration in the fields of the OCI image specification', async () => {
    const image = await buildImage(spec, dir);
    expect(readArchive(image.archive).config).toMatchObject({
      os: 'linux',
      config: {
        User: '7:8',
        Entrypoint: ['/opt/app/run'],
        Cmd: ['--fast'],
        Env: ['A=1', 'B=two=2'],
        WorkingDir: '/opt',
        ExposedPorts: { '8080/tcp': {} },
        StopSignal: 'SIGUSR1',
        Labels: { team: 'x' },
        Volumes: { '/data': {} },
      },
    });
  });

  test('lists files with owner, mode and missing parents', async () => {
    const { archive } = await buildImage(spec, dir);
    const listing = execFileSync('tar', ['-tv', '--numeric-owner'], { input: readArchive(archive).layer }).toString();
    expect(listing.trim().replace(/ +/g, ' ').split('\n')).toEqual([
      'drwxr-xr-x 0/0 0 1970-01-01 00:00 opt/',
      'drwxr-xr-x 0/0 0 1970-01-01 00:00 opt/app/',
      '-rwxr-xr-x 7/8 10 1970-01-01 00:00 opt/app/run',
      'lrwxrwxrwx 0/0 0 1970-01-01 00:00 opt/app/start -> run',
    ]);
  });

  test('lists every parent folder once and before its contents', async () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => [...parts, 'file'].join('/'));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(path, { maxLength: 6 }), async (paths) => {
        const files = paths.map((at) => ({ type: 'file', path: at, content: at }) as const);
        const { archive } = await buildImage({ reference: 'x:1', files }, dir);
        const listing = execFileSync('tar', ['-t'], { input: readArchive(archive).layer }).toString();
        const entries = listing.split('\n').filter((line) => line !== '');
        expect(new Set(entries).size).toBe(entries.length);
        for (const [at, entry] of entries.entries()) {
          const parent = entry.replace(/[^/]+\/?$/, '');
          expect(['', ...entries.slice(0, at)]).toContain(parent);
        }
        expect(entries.filter((entry) => !entry.endsWith('/'))).toEqual(paths);
      }),
      { numRuns: 25 },
    );
  });
});
