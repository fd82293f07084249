// The kernel's log, read as it is, and what the node says about kills in it.
import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { type NodeEvent, nodeAgentEvent } from '@kubus/contracts';
import { KernelLog } from '@kubus/node-usage';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import { EventRecorder } from '@kubus/service-kit';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { OomWatch } from '../src/pressure/oom-watch.ts';
import { NAME } from './member.ts';

const summary =
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=t,pid=7,uid=0';
const kill = (atMs: number, pid: number) =>
  ['x invoked oom-killer: y', summary, `Out of memory: Killed process ${pid} (t) total-vm:1kB`].map(
    (text) => `3,1,${atMs * 1000},-;${text}`,
  );

test('a kill for lack of memory of the machine is an event of the node, unless it is older than the watch', async () => {
  const clock = new ManualClock();
  const broker = new LocalBroker(NAME);
  const { bus } = broker.join('node-agent', clock);
  let records = kill(900, 6);
  let closed = false;
  const watch = new OomWatch({
    ...{ clock, logger: silentLogger, sinceMs: 1000 },
    events: new EventRecorder({ bus, clock }).ofNode(nodeAgentEvent),
    open: () =>
      Promise.resolve({
        read: () => Promise.resolve(records.splice(0)),
        close: () => Promise.resolve(void (closed = true)),
      }),
  });
  await settled();
  // The last line comes with a later read.
  const [first = '', second = '', last = ''] = kill(1100, 7);
  records = [first, second];
  await clock.advance(5_000);
  await settled();
  records = [last];
  await clock.advance(5_000);
  await settled();
  const reported = broker.said.flatMap(({ headers, data }) =>
    Object.values(headers).includes('node.event.recorded/1') ? [JSON.parse(data) as NodeEvent] : [],
  );
  expect(reported).toMatchObject([
    { type: 'Warning', reason: 'SystemOOM', message: 'System OOM encountered, victim process: t, pid: 7' },
  ]);
  watch.stop();
  await settled();
  expect(closed).toBe(true);
});

test('the log of this machine is read to its end, without waiting for more', async () => {
  const log = await KernelLog.open();
  try {
    const marker = `kubus test ${randomUUID()}`;
    await writeFile('/dev/kmsg', `${marker}\n`);
    const found = [];
    for (let records = await log.read(); records.length > 0; records = await log.read()) {
      found.push(...records.filter((one) => one.includes(marker)));
    }
    // What a program writes has its own facility: it is not the kernel's.
    expect(found).toEqual([expect.stringMatching(/^12,\d+,\d+,[^;]*;kubus test/)]);
  } finally {
    await log.close();
  }
});
