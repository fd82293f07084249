import { expect, test } from '@jest/globals';
import type { ServiceName } from '@kubus/contracts';
import { EventEmitter } from 'node:events';
import { ServiceGroup, followElsewhere } from './service-group.ts';

/** A group of three services, and what happened to them. */
function make(fails?: ServiceName) {
  const log: string[] = [];
  const group = new ServiceGroup({
    services: ['prober', 'sync-loop', 'pod-workers'],
    direct: { setElsewhere: (service, is) => void log.push(`${service} is ${is ? 'elsewhere' : 'here'}`) },
    start: (service) => {
      if (service === fails) return Promise.reject(new Error(`no ${service}`));
      log.push(`start ${service}`);
      return Promise.resolve({ stop: () => Promise.resolve(void log.push(`stop ${service}`)) });
    },
  });
  const take = (of = '') => log.splice(0).filter((one) => one.includes(of));
  return { group, take };
}

test('a service moves out and back; the others are not touched', async () => {
  const { group, take } = make();
  await group.setElsewhere(['prober']);
  expect(take('start')).toEqual(['start sync-loop', 'start pod-workers']);
  await group.setElsewhere(['prober', 'sync-loop']);
  expect(take('sync-loop')).toEqual(['stop sync-loop', 'sync-loop is elsewhere']);
  await group.setElsewhere([]);
  expect(take('start')).toEqual(['start prober', 'start sync-loop']);
  await group.stop();
  expect(take('stop').sort()).toEqual(['stop pod-workers', 'stop prober', 'stop sync-loop']);
});

test('changes that are asked for at once are made one after the other', async () => {
  const { group, take } = make();
  await Promise.all([group.setElsewhere([]), group.setElsewhere(['prober']), group.setElsewhere([])]);
  const ofProber = take().filter((one) => /^(start|stop) prober$/.test(one));
  expect(ofProber).toEqual(['start prober', 'stop prober', 'start prober']);
});

test('the parent is answered when it is done, and errors are reported', async () => {
  const { group, take } = make('prober');
  await group.setElsewhere(['prober']);
  take();
  const sent = Promise.withResolvers<unknown>();
  const failed = Promise.withResolvers<unknown>();
  const channel = { unref: () => undefined };
  const child = Object.assign(new EventEmitter(), { channel, connected: true, send: sent.resolve });
  followElsewhere(child as unknown as NodeJS.Process, group, (error) => {
    failed.resolve(error);
    return Promise.resolve();
  });
  child.emit('message', { elsewhere: ['unknown'] });
  child.emit('message', { elsewhere: ['prober', 'sync-loop'] });
  expect(await sent.promise).toEqual({ elsewhere: ['prober', 'sync-loop'] });
  expect(take()).toContain('stop sync-loop');
  child.emit('message', { elsewhere: [] });
  expect(await failed.promise).toEqual(new Error('no prober'));
});
