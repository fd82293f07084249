import { describe, expect, test } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { DRIVER, claimRig } from './claim-rig.ts';

const rig = claimRig();
const { uses, changes, start, stop, startDriver, endDriver, allocate, prepare, checkpoint, path } = rig;

describe('the health of devices', () => {
  const health = () => uses.get('one')?.claims[0]?.drivers[0]?.devices.map((one) => [one.health, one.healthMessage]);
  const ill = (devices: Record<string, string>) =>
    writeFileSync(path(`root/plugins/${DRIVER}/health/ill.json`), JSON.stringify(devices));

  /** How many connections the driver has on the socket for calls. */
  const connections = () => {
    const sockets = readFileSync('/proc/net/unix', 'utf8')
      .split('\n')
      .map((line) => line.split(/ +/));
    return sockets.filter(([, , , , , state, , of]) => state === '03' && of === path(`root/plugins/${DRIVER}/dra.sock`))
      .length;
  };

  test('is what the driver reports, until it no longer does; it is asked over its one connection', async () => {
    await start();
    await startDriver();
    allocate('seen', ['device-0', 'device-1'], ['one']);
    await prepare('one', ['seen']);
    await changes.until(() => health()?.every(([state]) => state === 'Healthy') === true);
    expect(connections()).toBe(1);
    ill({ 'device-1': 'too hot' });
    await changes.until(() => health()?.[1]?.[0] === 'Unhealthy');
    expect(health()).toEqual([
      ['Healthy', undefined],
      ['Unhealthy', 'too hot'],
    ]);
    expect(checkpoint()).not.toContain('Healthy');
    await endDriver('SIGKILL');
    await changes.until(() => health()?.every(([state]) => state === undefined) === true);
  });

  test('is known again after a restart of the node agent, for as long as it counts without the driver', async () => {
    await start();
    await startDriver();
    allocate('seen', ['device-0', 'device-1'], ['one']);
    await prepare('one', ['seen']);
    ill({ 'device-1': 'too hot' });
    await changes.until(() => health()?.[1]?.[0] === 'Unhealthy');
    await stop();
    await endDriver('SIGKILL');
    uses.clear();
    await start();
    await changes.until(() => uses.has('one'));
    expect(health()).toEqual([
      ['Healthy', undefined],
      ['Unhealthy', 'too hot'],
    ]);
    await rig.clock.advance(29_999);
    expect(health()?.[1]?.[0]).toBe('Unhealthy');
    await rig.clock.advance(1);
    expect(health()?.map(([state]) => state)).toEqual([undefined, undefined]);
  });

  test('is unknown when the file of before is damaged', async () => {
    writeFileSync(path('root/dra_health_state'), '{"devices.test":');
    await start();
    await startDriver();
    allocate('seen', ['device-0'], ['one']);
    await prepare('one', ['seen']);
    await changes.until(() => health()?.[0]?.[0] === 'Healthy');
  });
});
