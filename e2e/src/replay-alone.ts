import { readJsonLines, replay } from '@kubus/replay';
import { readFileSync } from 'node:fs';

/**
 * Replays a recording in a process that has nothing else: reading the time, waiting and random numbers fail. Started with an empty environment and no network, it prints the reports.
 *
 *     node replay-alone.ts FILE
 */
const [, , file = ''] = process.argv;
const lines = readFileSync(file, 'utf8').split('\n');

const forbidden = (what: string) => (): never => {
  throw new Error(`a replay uses ${what}`);
};
globalThis.Date = new Proxy(Date, {
  get: (target, name): unknown => (name === 'now' ? forbidden('Date.now') : Reflect.get(target, name)),
  apply: forbidden('Date()'),
  construct: (target, values) =>
    values.length === 0 ? forbidden('new Date()')() : (Reflect.construct(target, values) as Date),
});
Math.random = forbidden('Math.random');
Object.defineProperty(performance, 'now', { value: forbidden('performance.now') });
Object.assign(globalThis, { setTimeout: forbidden('setTimeout'), setInterval: forbidden('setInterval') });
crypto.getRandomValues = forbidden('crypto.getRandomValues');
crypto.randomUUID = forbidden('crypto.randomUUID');

const reports = await replay(readJsonLines(lines, file));
process.stdout.write(JSON.stringify(reports));
