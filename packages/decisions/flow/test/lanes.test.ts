import { describe, expect, test } from '@jest/globals';
import { settled } from '@kubus/ports/testing';
import { Lanes } from '../src/index.ts';

/** An action that lasts until the test ends it. */
function gate() {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  return { promise, open: () => resolve(undefined), fail: () => reject(new Error('failed')) };
}

describe('lanes', () => {
  test('actions in one lane run one after another in order, even after a failure', async () => {
    const lanes = new Lanes();
    const log: string[] = [];
    const gates = [gate(), gate(), gate()] as const;
    const results = gates.map(({ promise }, index) =>
      lanes.run('a', async () => {
        log.push(`begin ${index}`);
        await promise;
        log.push(`end ${index}`);
        return index;
      }),
    );
    await settled();
    expect(log).toEqual(['begin 0']);
    gates[0].fail();
    await expect(results[0]).rejects.toThrow('failed');
    await settled();
    expect(log).toEqual(['begin 0', 'begin 1']);
    gates[2].open();
    await settled();
    expect(log).toEqual(['begin 0', 'begin 1']);
    gates[1].open();
    await expect(Promise.all(results.slice(1))).resolves.toEqual([1, 2]);
    expect(log).toEqual(['begin 0', 'begin 1', 'end 1', 'begin 2', 'end 2']);
    await expect(lanes.run('a', () => Promise.resolve('later'))).resolves.toBe('later');
  });

  test('a lane is busy while an action is running or waiting in it', async () => {
    const lanes = new Lanes();
    const held = gate();
    const slow = lanes.run('a', () => held.promise);
    expect([lanes.isBusy('a'), lanes.isBusy('b')]).toEqual([true, false]);
    held.fail();
    await expect(slow).rejects.toThrow('failed');
    expect(lanes.isBusy('a')).toBe(false);
  });

  test('actions that need the same lanes in another order run one after the other', async () => {
    const lanes = new Lanes();
    const held = gate();
    const log: string[] = [];
    const first = lanes.runInAll(['a', 'b'], async () => {
      await held.promise;
      log.push('first');
    });
    const second = lanes.runInAll(['b', 'a', 'b'], () => Promise.resolve(log.push('second')));
    expect(await lanes.runInAll([], () => Promise.resolve('none'))).toBe('none');
    held.open();
    await Promise.all([first, second]);
    expect(log).toEqual(['first', 'second']);
    expect([lanes.isBusy('a'), lanes.isBusy('b')]).toEqual([false, false]);
  });

  test('lanes do not wait for each other', async () => {
    const lanes = new Lanes();
    const held = gate();
    const slow = lanes.run('a', () => held.promise);
    await expect(lanes.run('b', () => Promise.resolve('b'))).resolves.toBe('b');
    held.open();
    await slow;
  });
});
