import { describe, expect, test } from '@jest/globals';
import { imageNameProblem, parseImageName } from './image-name.ts';

const hex = 'a'.repeat(64);

describe('parseImageName', () => {
  test.each([
    ['busybox', [undefined, 'busybox', undefined, undefined]],
    ['docker.io/library/busybox:1.35', ['docker.io', 'library/busybox', '1.35', undefined]],
    ['library/busybox', [undefined, 'library/busybox', undefined, undefined]],
    ['localhost/a', ['localhost', 'a', undefined, undefined]],
    ['localhost:5000/a/b:latest', ['localhost:5000', 'a/b', 'latest', undefined]],
    ['[2001:db8::1]:5000/a', ['[2001:db8::1]:5000', 'a', undefined, undefined]],
    ['Registry/a', ['Registry', 'a', undefined, undefined]],
    [`a@sha256:${hex}`, [undefined, 'a', undefined, `sha256:${hex}`]],
    [`r.io/a:v1@sha256:${hex}`, ['r.io', 'a', 'v1', `sha256:${hex}`]],
    ['a__b/c---d.e_f', [undefined, 'a__b/c---d.e_f', undefined, undefined]],
  ])('%s', (text, [domain, path, tag, digest]) => {
    expect(parseImageName(text)).toEqual({ domain, path, tag, digest });
  });

  test.each(['', 'Not A Valid//Name', 'Busybox', 'a:', 'a:b:c', 'a@sha256:12', '/a', 'a/', hex, 'a:-x', 'a..b', 'a b'])(
    '%j is none',
    (text) => expect(parseImageName(text)).toBeUndefined(),
  );
});

describe('imageNameProblem', () => {
  const format = 'invalid reference format';
  test.each([
    ['a:', format],
    ['Busybox:1', `${format}: repository name (Busybox) must be lowercase`],
    ['Not A Valid//Name', `${format}: repository name (/Name) must be lowercase`],
    ['r.io/a/B@sha256:12', `${format}: repository name (a/B@sha256) must be lowercase`],
    [hex, `invalid repository name (${hex}), cannot specify 64-byte hexadecimal strings`],
  ])('%s', (text, problem) => expect(imageNameProblem(text)).toBe(problem));
});
