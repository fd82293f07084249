import { describe, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { DRIVER, claimRig } from './claim-rig.ts';

const { uses, changes, start, startDriver, endDriver, allocate, prepare, checkpoint, path } = claimRig();

describe('the health of devices', () => {
  const health = () => uses.get('one')?.claims[0]?.drivers[0]?.devices.map((one) => [one.health, one.healthMessage]);
  const ill = (devices: Record<string, string>) =>
    writeFileSync(path(`root/plugins/${DRIVER}/health/ill.json`), JSON.stringify(devices));

  test('is what the driver reports, until it no longer does', async () => {
    await start();
    await startDriver();
    allocate('seen', ['device-0', 'device-1'], ['one']);
    await prepare('one', ['seen']);
    await changes.until(() => health()?.every(([state]) => state === 'Healthy') === true);
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
});
