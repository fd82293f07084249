import { expect, test } from '@jest/globals';
import { healthCheckpoint, healthOf, parseHealthCheckpoint, withReports } from '../src/index.ts';

const NOW = Date.UTC(2030, 0, 1);
/** As the reference kubelet writes it. */
const file =
  '{"a.test":{"Devices":{"p/x":{"PoolName":"p","DeviceName":"x","Health":"Unhealthy","LastUpdated":"2030-01-01T00:59:40.123456789+01:00",' +
  '"HealthCheckTimeout":30000000000,"Message":"hot \\u0026 loud"},"p/y":{"PoolName":"p","DeviceName":"y","Health":"Healthy",' +
  '"LastUpdated":"2029-12-31T23:59:29Z","HealthCheckTimeout":30000000000,"Message":""}}},"b.test":{"Devices":{}}}';

test('what the reference has written counts until its time-out', () => {
  const known = parseHealthCheckpoint(file, NOW);
  if ('problem' in known) throw new Error(known.problem);
  const devices = known.get('a.test') ?? new Map();
  expect([...known.keys()]).toEqual(['a.test']);
  expect(healthOf(devices, { pool: 'p', device: 'x' })).toEqual({ health: 'Unhealthy', healthMessage: 'hot & loud' });
  expect(healthOf(devices, { pool: 'p', device: 'y' })).toEqual({});
  const before = parseHealthCheckpoint(file, NOW - 60_000);
  expect('problem' in before || before.has('a.test')).toBe(false);
});

test('what is written is read again, in the order of the reference', () => {
  const report = (device: string, health: 'Healthy' | undefined, timeoutSeconds: number) => ({
    ...{ pool: 'p', device, health, message: '', timeoutSeconds },
  });
  const known = withReports(new Map(), [report('z', 'Healthy', 100), report('x', undefined, 0)], NOW);
  const text = healthCheckpoint(new Map([['b.test', known]]));
  expect(text).toBe(
    '{"b.test":{"Devices":{' +
      '"p/x":{"PoolName":"p","DeviceName":"x","Health":"Unknown","LastUpdated":"2030-01-01T00:00:00.000Z","HealthCheckTimeout":30000000000,"Message":""},' +
      '"p/z":{"PoolName":"p","DeviceName":"z","Health":"Healthy","LastUpdated":"2030-01-01T00:00:00.000Z","HealthCheckTimeout":100000000000,"Message":""}}}}',
  );
  const read = parseHealthCheckpoint(text, NOW);
  if ('problem' in read) throw new Error(read.problem);
  expect(Object.fromEntries(read.get('b.test') ?? [])).toEqual(Object.fromEntries(known));
});

test.each(['', '[]', '{"a.test":{"Devices":[]}}', '{"a.test":{"Devices":{"p/x":{"PoolName":"p"}}}}'])(
  'a file that has no health is refused: %s',
  (text) => expect(parseHealthCheckpoint(text, NOW)).toHaveProperty('problem'),
);
