// Many readers of one busy log, of which half do not read at first.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { isSoak, poll } from '@kubus/harness';
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { on } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ApiNode, open, podNamed, runOf } from './api-node.ts';
import { get } from './client.ts';
import type { ReadersReport } from './log-readers.ts';

const MB = 1024 * 1024;
const READERS = 50;

// Contexts that are created after this have `gc`.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const pod = podNamed('busy');
const PATH = '/containerLogs/default/busy/main';
let node: ApiNode;
let log: string;
let reading = new AbortController();

beforeAll(async () => {
  node = await ApiNode.make();
  await node.start(open);
  log = join(node.folder, '0.log');
  writeFileSync(log, '');
  node.want('api', pod);
  node.runs(pod, [runOf('now', log)]);
  const common = { ready: true, restartCount: 0, image: '', imageID: '', containerID: 'containerd://now' };
  node.status(pod, { containerStatuses: [{ name: 'main', state: { running: {} }, lastState: {}, ...common }] });
  await poll('the log exists', async () => {
    const { status } = await get(node.api.ports.secure, PATH);
    return status === 200 || undefined;
  });
});
afterEach(() => {
  reading.abort();
  reading = new AbortController();
});
afterAll(() => node.remove());

function heldBytes(): number {
  // Garbage that one collection finds is freed in the background; the next one waits for that.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Writes lines to the log, as a runtime does; returns them as readers see them. */
function writeLines(count: number, length: number, note: (text: string) => void): void {
  const block = 100;
  for (let index = 0; index < count; index += block) {
    const texts = Array.from({ length: block }, (_, one) => `${index + one} `.padEnd(length - 1, 'x'));
    appendFileSync(log, texts.map((text) => `2020-01-01T00:00:00Z stdout F ${text}\n`).join(''));
    note(texts.map((text) => `${text}\n`).join(''));
  }
}

/**
 * Starts the readers that follow the log, in another process; each reads so many bytes. It is killed after the test.
 */
function startReaders(bytes: number): AsyncIterable<[ReadersReport]> {
  const { secure } = node.api.ports;
  const args = [String(secure), `${PATH}?follow=true`, String(READERS), String(bytes)];
  // Without Jest's own flags.
  const readers = fork(new URL('log-readers.ts', import.meta.url), args, { execArgv: [], signal: reading.signal });
  return on(readers, 'message', { close: ['exit'] }) as AsyncIterable<[ReadersReport]>;
}

test('fifty readers that follow a busy container get every byte, and slow ones cost little memory', async () => {
  const [lines, length] = [isSoak ? 5_000 : 1_500, 2_000];
  const before = heldBytes();
  const held: number[] = [];
  const written = createHash('sha256');
  let hashes: readonly string[] = [];
  for await (const [report] of startReaders(lines * length)) {
    if (report.kind === 'connected') writeLines(lines, length, (text) => written.update(text));
    else if (report.kind === 'read') held.push(heldBytes() - before);
    else hashes = report.hashes;
  }
  expect(hashes).toHaveLength(READERS);
  expect(new Set(hashes)).toEqual(new Set([written.digest('hex')]));
  await poll('all readers have ended', () => Promise.resolve(node.api.streams === 0 || undefined));
  // Together they read 150 MB (500 in the soak), half of that when the other half has finished. Each has a few pieces of 64 KiB in
  // transit.
  expect(held.length).toBeGreaterThan(5);
  expect(Math.max(...held)).toBeLessThan(READERS * 0.5 * MB);
  expect(heldBytes() - before).toBeLessThan(8 * MB);
});
