import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { TestSystemd } from '@kubus/systemd-fixture';
import { systemClock } from '@kubus/service-kit';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DBusCallError, Systemd, UnitError, type UnitProperty } from '../src/index.ts';

let bus: TestSystemd;
let systemd: Systemd;

beforeAll(async () => {
  bus = await TestSystemd.start();
  systemd = new Systemd({ address: bus.address, clock: systemClock });
});
beforeEach(() => void (seen = bus.calls.length));
afterAll(async () => {
  await systemd.close();
  await bus.stop();
});
let seen = 0;
/** The calls of this test. */
const calls = () => bus.calls.slice(seen);

describe('a unit', () => {
  const properties: readonly UnitProperty[] = [
    ['DefaultDependencies', 'b', false],
    ['Description', 's', 'a slice'],
    ['Wants', 'as', ['a.slice']],
    ['MemoryMax', 't', 2n ** 64n - 1n],
    ['AllowedCPUs', 'ay', Uint8Array.of(3)],
  ];

  test('is started with its properties, found when it exists, changed and stopped', async () => {
    expect(await systemd.startTransientUnit('a-b.slice', properties)).toBe(true);
    expect(await systemd.startTransientUnit('a-b.slice', properties)).toBe(false);
    await systemd.startUnit('a-b.slice');
    await systemd.setUnitProperties('a-b.slice', [['CPUWeight', 't', 79n]]);
    expect(await systemd.unitProperties('a-b.slice')).toEqual({
      Id: 'a-b.slice',
      ActiveState: 'active',
      CPUWeight: 79n,
    });
    await systemd.stopUnit('a-b.slice');
    await systemd.stopUnit('a-b.slice');
    const json =
      '{"DefaultDependencies":false,"Description":"a slice","Wants":["a.slice"],"MemoryMax":"18446744073709551615","AllowedCPUs":[3]}';
    await bus.called(() => calls().filter((call) => call.startsWith('StopUnit')).length === 2);
    expect(calls().filter((call) => !call.startsWith('Subscribe'))).toEqual([
      `StartTransientUnit a-b.slice ${json}`,
      `StartTransientUnit a-b.slice ${json}`,
      'StartUnit a-b.slice {}',
      'SetUnitProperties a-b.slice {"CPUWeight":"79"}',
      'GetUnit a-b.slice {}',
      'StopUnit a-b.slice {}',
      'StopUnit a-b.slice {}',
    ]);
  });

  test('that does not start is an error with the result of its job, and is not left failed', async () => {
    const started = systemd.startTransientUnit('failing.slice', []);
    await expect(started).rejects.toThrow(UnitError);
    await expect(started).rejects.toThrow('systemd did not start unit failing.slice: its job ended with "failed"');
    await bus.called(() => calls().includes('ResetFailedUnit failing.slice {}'));
  });

  test('for which systemd takes too long is an error', async () => {
    const impatient = new Systemd({
      address: bus.address,
      clock: { after: (_, action) => (setImmediate(action), () => undefined) },
    });
    await expect(impatient.startTransientUnit('stuck.slice', [])).rejects.toThrow('it has not finished in time');
    await impatient.close();
  });

  test('that does not exist cannot be changed', async () => {
    const changed = systemd.setUnitProperties('none.slice', []);
    await expect(changed).rejects.toThrow(DBusCallError);
    await expect(changed).rejects.toMatchObject({ dbusName: 'org.freedesktop.systemd1.NoSuchUnit' });
  });

  test('is one of many that are started at once', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `many-m${index}.slice`);
    expect(await Promise.all(names.map((name) => systemd.startTransientUnit(name, [])))).toEqual(names.map(() => true));
    await Promise.all(names.map((name) => systemd.stopUnit(name)));
  });
});

describe('the connection', () => {
  test('is opened again when the bus has restarted, also for a job that was awaited', async () => {
    const waiting = systemd.startTransientUnit('stuck-again.slice', []);
    await bus.called(() => calls().some((call) => call.startsWith('StartTransientUnit stuck-again')));
    await bus.end();
    await expect(waiting).rejects.toThrow(DBusCallError);
    await bus.begin();
    expect(await systemd.startTransientUnit('again.slice', [])).toBe(true);
  });

  test('to a bus that does not exist is an error that names it, each time', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kubus-dbus-'));
    const none = new Systemd({ address: `unix:path=${folder}/none`, clock: systemClock });
    for (const _ of [1, 2]) {
      await expect(none.stopUnit('a.slice')).rejects.toThrow(`over unix:path=${folder}/none: `);
    }
    await none.close();
    await expect(new Systemd({ address: 'nonsense', clock: systemClock }).stopUnit('a.slice')).rejects.toThrow(
      DBusCallError,
    );
    rmSync(folder, { recursive: true });
  });
});
