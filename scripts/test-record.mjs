// The tests that have succeeded, package by package, stored in .kubus/tests.json: an unchanged package is counted and not
// run again.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * @typedef {object} Kept the record of a package whose tests have all passed
 * @property {string} hash turbo's hash of the package, of all that it imports, and of what the workspace shares
 * @property {number} passed
 * @property {Record<string, number>} seconds the duration of each of its files, by its path from the root
 *
 * @typedef {Record<string, Kept>} TestRecord by package
 *
 * @typedef {object} TestTask a task of `turbo run test --dry=json`
 * @property {string} package
 * @property {string} directory
 * @property {string} hash
 *
 * @typedef {object} TestFile the result of one file
 * @property {string} name its path from the root
 * @property {number} seconds
 * @property {number} passed
 * @property {number} failed 1 for a file that could not be loaded
 */

const recordFile = (root) => join(root, '.kubus/tests.json');

/**
 * @param {string} root
 * @returns {TestRecord} empty when no test has succeeded yet
 */
export function readRecord(root) {
  try {
    return JSON.parse(readFileSync(recordFile(root), 'utf8'));
  } catch {
    return {};
  }
}

/**
 * @param {string} root
 * @param {TestRecord} record
 */
export function writeRecord(root, record) {
  const file = recordFile(root);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, JSON.stringify(record));
  renameSync(`${file}.new`, file);
}

/**
 * @param {TestRecord} record
 * @returns {Record<string, number>} by file
 */
export function secondsOf(record) {
  return Object.assign({}, ...Object.values(record).map(({ seconds }) => seconds));
}

/**
 * Which packages have changed since they last succeeded.
 *
 * @param {readonly TestTask[]} tasks
 * @param {TestRecord} record
 * @returns {{ changed: TestTask[], unchanged: TestTask[] }}
 */
export function compare(tasks, record) {
  const isKept = (task) => record[task.package]?.hash === task.hash;
  return { changed: tasks.filter((task) => !isKept(task)), unchanged: tasks.filter(isKept) };
}

/**
 * The record after a run. A package is recorded when it did not run, or when all its files passed and its hash after the run
 * equals the hash before it: edits during the run have not been tested.
 *
 * @param {TestRecord} record
 * @param {readonly TestTask[]} before all packages
 * @param {readonly TestTask[]} after the same packages, read again after the run
 * @param {readonly TestFile[]} files all files that ran; the run was completed
 * @returns {TestRecord}
 */
export function recordAfter(record, before, after, files) {
  const hashAfter = new Map(after.map((task) => [task.package, task.hash]));
  const kept = {};
  for (const { package: name, directory, hash } of before) {
    const own = files.filter((file) => file.name.startsWith(`${directory}/`));
    if (record[name]?.hash === hash) kept[name] = record[name];
    else if (own.every(({ failed }) => failed === 0) && hashAfter.get(name) === hash) {
      kept[name] = {
        hash,
        passed: own.reduce((sum, { passed }) => sum + passed, 0),
        seconds: Object.fromEntries(own.map(({ name: file, seconds }) => [file, seconds])),
      };
    }
  }
  return kept;
}
