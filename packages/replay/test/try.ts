import { silentLogger } from '@kubus/ports';
import { runSchedule } from '@kubus/simulation';
import { replay } from '../src/index.ts';
const messages: any[] = [];
const seed = Number(process.argv[2] ?? 1);
const t0 = performance.now();
const r = await runSchedule({
  seed,
  logger: silentLogger,
  journaled: (process.argv[3] ?? 'sync-loop').split(',') as never,
  record: (message) => messages.push({ seq: messages.length + 1, message }),
});
const t1 = performance.now();
console.log(
  seed,
  'violations',
  r.violations.length,
  'messages',
  messages.length,
  'journal',
  messages.filter((m) => m.message.subject.includes('.journal.')).length,
  (t1 - t0).toFixed(0),
  'ms',
);
const reports = await replay(messages);
console.log((performance.now() - t1).toFixed(0), 'ms replay');
for (const { difference, ...rest } of reports) {
  console.log(JSON.stringify(rest));
  if (difference) console.log(JSON.stringify(difference, null, 1).slice(0, 5000));
}
