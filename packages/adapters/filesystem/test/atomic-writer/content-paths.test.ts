import { expect, test } from '@jest/globals';
import { ContentPathError, checkPaths } from '../../src/index.ts';

test('redundant parts of a path are removed', () => {
  expect(checkPaths(['a', './b//c', 'd/./e/', 'x..', 'y/..z'])).toEqual(['a', 'b/c', 'd/e', 'x..', 'y/..z']);
});

test.each([
  ['', 'must not be empty: ""'],
  ['.', 'must name a file: .'],
  ['/a', 'must be relative path: /a'],
  ['..', "must not contain '..': .."],
  ['a/../b', "must not contain '..': a/../b"],
  ['a/..', "must not contain '..': a/.."],
  ['..data', "must not start with '..': ..data"],
  ['./..data/a', "must not start with '..': ./..data/a"],
  ['a\0b', 'must not contain a null byte'],
  ['é'.repeat(128), 'filenames must be less than or equal to 255 characters'],
  ['ab/'.repeat(1366), 'must be less than or equal to 4096 characters'],
])('%j is refused', (path, problem) => {
  expect(() => checkPaths([path])).toThrow(new ContentPathError(`invalid path: ${problem}`, path));
});

test('a path cannot be both a file and a folder', () => {
  expect(() => checkPaths(['a/b/c', 'a/b'])).toThrow('invalid path: a/b is a file, and cannot hold a/b/c');
  expect(checkPaths(['a/b', 'a/bc', 'ab'])).toEqual(['a/b', 'a/bc', 'ab']);
});
