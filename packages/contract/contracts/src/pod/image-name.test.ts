import { describe, expect, test } from '@jest/globals';
import { bareImageName, imageNameProblem, parseImageName, repositoryOf } from './image-name.ts';

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
  ])('parses %s', (text, [domain, path, tag, digest]) => {
    expect(parseImageName(text)).toEqual({ domain, path, tag, digest });
  });

  test.each(['', 'Not A Valid//Name', 'Busybox', 'a:', 'a:b:c', 'a@sha256:12', '/a', 'a/', hex, 'a:-x', 'a..b', 'a b'])(
    '%j is not an image name',
    (text) => expect(parseImageName(text)).toBeUndefined(),
  );
});

test.each([
  ['busybox:1', 'busybox', 'docker.io/library/busybox'],
  ['index.docker.io/a/b', 'index.docker.io/a/b', 'docker.io/a/b'],
  [`r.io:5000/a:v1@sha256:${hex}`, 'r.io:5000/a', 'r.io:5000/a'],
  ['no name', undefined, undefined],
])('%s has the bare name %s and the repository %s', (text, bare, repository) => {
  expect([bareImageName(text), repositoryOf(text)]).toEqual([bare, repository]);
});

test.each([
  ['busybox', undefined],
  ['Not A Valid//Name', 'invalid reference format: repository name (/Name) must be lowercase'],
  ['Busybox:1', 'invalid reference format: repository name (library/Busybox) must be lowercase'],
  ['a/B', 'invalid reference format: repository name (a/B) must be lowercase'],
  ['r.io/a/B:v1', 'invalid reference format: repository name (a/B) must be lowercase'],
  ['a b', 'invalid reference format'],
  ['a:b:c', 'invalid reference format'],
  [hex, `invalid repository name (${hex}), cannot specify 64-byte hexadecimal strings`],
])('the problem of %j is reported as %s', (text, problem) => expect(imageNameProblem(text)).toBe(problem));
