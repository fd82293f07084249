import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@kubus/kube-fixture';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { DRIVER, claimRig } from './claim-rig.ts';

const rig = claimRig();
const { uses, changes, start, stop, startDriver, endDriver, allocate, prepare, unprepare } = rig;
const { refusal, books, checkpoint, ended, untilMissing, path, measured, forceDelete, driver } = rig;

/** How often the driver was called, by method. */
async function calls(): Promise<Record<string, number>> {
  const found = (await measured()).matchAll(
    /dra_grpc_operations_duration_seconds_count\{.*DRAPlugin\/(\w+)".*\} (\d+)/g,
  );
  return Object.fromEntries([...found].map(([, method = '', count]) => [method, Number(count)]));
}

describe('a claim', () => {
  test('is prepared once for all pods that share it, and undone when the last one leaves', async () => {
    await start();
    await startDriver();
    const uid = allocate('shared', ['device-0', 'device-1'], ['one', 'two']);
    const names = [`${DRIVER}/claim=${uid}-device-0`, `${DRIVER}/claim=${uid}-device-1`];
    expect(await prepare('one', ['shared'])).toEqual(names);
    expect(await prepare('two', ['shared'])).toEqual(names);
    expect(await prepare('two', ['shared'], { started: true })).toEqual(names);
    expect(books()).toEqual({ prepared: 1, unprepared: 0, claims: [uid], files: 1 });
    expect(uses.get('two')?.claims.map((one) => one.name)).toEqual(['shared']);
    await unprepare('one');
    await unprepare('one');
    expect(books()).toMatchObject({ unprepared: 0, claims: [uid] });
    expect([...uses.keys()]).toEqual(['two']);
    await unprepare('two');
    expect(books()).toEqual({ prepared: 1, unprepared: 1, claims: [], files: 0 });
    expect([...uses.keys()]).toEqual([]);
  });

  test('is prepared in one call with the other claims of its pod, and undone in one; pods that share claims wait for no circle', async () => {
    await start();
    await startDriver();
    const [one, two] = [allocate('a', ['device-0'], ['x', 'y']), allocate('b', ['device-1'], ['x', 'y'])];
    const prepared = await Promise.all([prepare('x', ['a', 'b']), prepare('y', ['b', 'a', 'a'])]);
    const names = [`${DRIVER}/claim=${one}-device-0`, `${DRIVER}/claim=${two}-device-1`];
    expect(prepared.map((each) => each.toSorted())).toEqual([names.toSorted(), names.toSorted()]);
    expect(await calls()).toEqual({ NodePrepareResources: 1 });
    await Promise.all([unprepare('x'), unprepare('y')]);
    expect(await calls()).toEqual({ NodePrepareResources: 1, NodeUnprepareResources: 1 });
    expect(books()).toEqual({ prepared: 2, unprepared: 2, claims: [], files: 0 });
  });

  test('is prepared once although its driver fails for another claim of the pod', async () => {
    await start();
    await startDriver();
    const [, bad] = [allocate('good', ['device-0'], ['one']), allocate('bad', ['device-1'], ['one'])];
    // In the way of the file that the driver writes for this claim.
    const obstacle = path(`cdi/${DRIVER}-claim-${bad}.json`);
    mkdirSync(obstacle);
    const what = 'prepare dynamic resources: NodePrepareResources failed for ResourceClaim bad: ';
    expect(await refusal(prepare('one', ['good', 'bad']))).toContain(what);
    rmdirSync(obstacle);
    expect(await prepare('one', ['good', 'bad'])).toHaveLength(2);
    expect(await calls()).toEqual({ NodePrepareResources: 2 });
    await unprepare('one');
    expect(books()).toEqual({ prepared: 2, unprepared: 2, claims: [], files: 0 });
  });

  test('is refused with the reason, and nothing is left to undo', async () => {
    await start();
    allocate('lonely', ['device-0'], ['one'], ['other.test']);
    const what = 'prepare dynamic resources: ';
    expect(await refusal(prepare('one', ['lonely']))).toBe(`${what}DRA driver other.test is not registered`);
    expect(await refusal(prepare('two', ['lonely']))).toMatch(
      /pod two \(two\) is not allowed to use ResourceClaim lonely/,
    );
    expect(await refusal(prepare('one', ['lonely'], { owned: true }))).toMatch(/was not created for Pod default\/one/);
    expect(await refusal(prepare('one', ['missing']))).toBe(
      `${what}fetch ResourceClaim missing: resourceclaims.resource.k8s.io "missing" not found`,
    );
    await unprepare('one');
    expect(existsSync(path('root/dra_manager_state'))).toBe(false);
  });

  test('whose driver is away stays until the driver is back and has undone it', async () => {
    await start();
    await startDriver();
    const uid = allocate('gone', ['device-0'], ['one']);
    await prepare('one', ['gone']);
    await endDriver('SIGTERM');
    await untilMissing('one', 'gone');
    expect(await refusal(unprepare('one'))).toBe(`unprepare dynamic resources: DRA driver ${DRIVER} is not registered`);
    ended('one');
    await startDriver();
    await changes.until(() => !uses.has('one'));
    expect(books()).toEqual({ prepared: 1, unprepared: 1, claims: [], files: 0 });
    expect(checkpoint()).not.toContain(uid);
  });
});

describe('a restart between prepare and start', () => {
  test('of the node agent and the driver: the claim is known, and the driver has prepared it once', async () => {
    await start();
    await startDriver();
    const uid = allocate('kept', ['device-0'], ['one']);
    const names = await prepare('one', ['kept']);
    await stop();
    await endDriver('SIGKILL');
    await start();
    // A container starts although the driver is away.
    expect(await prepare('one', ['kept'], { started: true })).toEqual(names);
    expect(uses.get('one')?.claims.map((one) => one.uid)).toEqual([uid]);
    await startDriver();
    // A new sandbox asks the driver again: after a boot nothing may be left of what it prepared.
    expect(await prepare('one', ['kept'])).toEqual(names);
    expect(books()).toEqual({ prepared: 1, unprepared: 0, claims: [uid], files: 1 });
    ended('one');
    await changes.until(() => !uses.has('one'));
    expect(books()).toEqual({ prepared: 1, unprepared: 1, claims: [], files: 0 });
  });

  test('a claim that is in the checkpoint without an answer is undone when its pod is gone', async () => {
    await start();
    await startDriver();
    const uid = allocate('half', ['device-0'], ['one']);
    await prepare('one', ['half']);
    // As a node agent leaves it that was killed while the driver prepared the claim.
    const { Data: data } = JSON.parse(checkpoint()) as { Data: string };
    const half = data.replace(/"Devices":\[.*?\]\}\}/, '"Devices":null}}');
    expect(half).not.toBe(data);
    await stop();
    writeFileSync(path('root/dra_manager_state'), JSON.stringify({ Data: half, Checksum: crc32(half) }));
    expect(books()).toMatchObject({ claims: [uid] });
    forceDelete('one');
    await start();
    await changes.until(() => uses.size === 0);
    expect(books()).toEqual({ prepared: 1, unprepared: 1, claims: [], files: 0 });
  });

  test('a damaged checkpoint stops the service: nobody would know what drivers have to undo', async () => {
    writeFileSync(path('root/dra_manager_state'), '{"Data":"{}","Checksum":1}');
    await expect(start()).rejects.toThrow(
      /dra_manager_state: checkpoint is corrupted; drain the node and remove the file/,
    );
  });
});

const own = { kind: 'ResourceSlice', name: `node0-${DRIVER}` };

test('the slices of drivers that are not there are removed: at the start, and when one stays away', async () => {
  const slice = (of: string, nodeName = 'node0') => {
    const spec: JsonObject = {
      driver: of,
      nodeName,
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      devices: [],
    };
    rig.server.create({
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name: `${nodeName}-${of}-old` },
      spec,
    });
  };
  slice('old.test');
  slice('old.test', 'other');
  const left = () =>
    rig.server
      .list('ResourceSlice')
      .map(({ metadata }) => metadata.name)
      .toSorted();
  await start();
  await rig.server.waitGone({ kind: 'ResourceSlice', name: 'node0-old.test-old' });
  expect(left()).toEqual(['other-old.test-old']);
  await startDriver();
  await rig.server.waitFor(own, () => true);
  allocate('seen', ['device-0'], ['one']);
  await prepare('one', ['seen']);
  await endDriver('SIGTERM');
  await untilMissing('one', 'seen');
  await rig.clock.advance(29_000);
  expect(rig.server.get(own)).toBeDefined();
  await rig.clock.advance(1_000);
  await rig.server.waitGone(own);
  expect(left()).toEqual(['other-old.test-old']);
});

describe('a driver that was killed, whose sockets stay', () => {
  const isConnected = () => uses.get('one')?.claims[0]?.drivers[0]?.connected;

  test('counts as away: its slices go after the grace, and it is known again when it is back', async () => {
    await start();
    await startDriver();
    await rig.server.waitFor(own, () => true);
    allocate('seen', ['device-0'], ['one']);
    await prepare('one', ['seen']);
    await changes.until(() => isConnected() === true);
    await endDriver('SIGKILL');
    await changes.until(() => isConnected() === false);
    expect(await measured()).toContain(`dra_driver_processes{driver_name="${DRIVER}"} 0`);
    await rig.clock.advance(29_000);
    expect(rig.server.get(own)).toBeDefined();
    await rig.clock.advance(1_000);
    await rig.server.waitGone(own);
    await startDriver();
    await changes.until(() => isConnected() === true);
    await rig.server.waitFor(own, () => true);
    await rig.clock.advance(30_000);
    expect(rig.server.get(own)).toBeDefined();
  });

  test('is replaced by its older process, which is there', async () => {
    await start();
    await startDriver();
    await startDriver('--instance', 'new');
    allocate('seen', ['device-0'], ['one']);
    await prepare('one', ['seen']);
    await endDriver('SIGKILL');
    allocate('later', ['device-1'], ['two']);
    // As pod-workers does until it succeeds: the node may not know yet that the newer process is gone.
    while (
      !(await prepare('two', ['later']).then(
        () => true,
        () => false,
      ))
    )
      continue;
    await endDriver('SIGTERM', driver(0));
    await changes.until(() => isConnected() === false);
  });
});

test('the metrics have the names of the reference', async () => {
  await start();
  await startDriver();
  allocate('measured', ['device-0'], ['one']);
  await prepare('one', ['measured']);
  const text = await measured();
  expect(text).toContain(`dra_resource_claims_in_use{driver_name="${DRIVER}"} 1`);
  expect(text).toContain('dra_operations_duration_seconds_count{operation_name="PrepareResources",is_error="false"} 1');
  expect(text).toMatch(/dra_grpc_operations_duration_seconds_count\{.*NodePrepareResources.*grpc_status_code="OK"\} 1/);
});
