import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TestNatsServer } from '@kubus/bus-nats/testing';
import { serviceContracts, serviceNames } from '@kubus/contracts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { containerConfig } from '../../src/containers/container-config.ts';
import { type ContainerDir, containerDir } from '../../src/containers/container-dir.ts';
import { KUBUS_USER } from '../../src/containers/container-services.ts';
import { findRemoteProcess } from '../../src/containers/remote-process.ts';
import { copyIdentities, makeServiceFolders } from '../../src/containers/service-folders.ts';
import { freePort } from '../../src/network/free-port.ts';
import { compileNatives } from '../../src/node/natives.ts';
import { sharedNodeFlags } from '../../src/processes/node-program.ts';
import { afterTest, testFolder } from '../support.ts';

const program = join(import.meta.dirname, '../../../service-host/src/main.ts');
const NODE = 'shared';
const placement = { status: ['prober' as const, 'sync-loop' as const] };
const server = new TestNatsServer();

beforeAll(async () => {
  const identities = serviceNames.map((service) => ({ service, instance: `${service}-0` }));
  await server.start(NODE, serviceContracts, identities);
  await server.makeStreams();
});
afterAll(() => server.stop());

async function made(): Promise<ContainerDir> {
  const base = await testFolder();
  const dir = containerDir(NODE, NODE, { base, runBase: join(base, 'run') });
  await makeServiceFolders(dir, placement);
  return dir;
}

test('services that share a container run in one process, whose health is that of all of them', async () => {
  const { keepService } = await compileNatives(join(import.meta.dirname, '../../../../../.kubus/cache'));
  const dir = await made();
  const keys = [...server.identities.values()];
  await copyIdentities(dir, placement, keys);
  const httpPort = await freePort();
  const settings = { natsUrl: server.url, logLevel: 'info', observatory: false, httpPort };
  const nats = { identities: dir.identity('services-status') };
  const config = containerConfig(dir, { ...settings, overlay: { file: 'o', patch: { placement, nats } } });
  // Only that of the container: others of this machine may be in use.
  const ports = { 'services-status': httpPort };
  const file = join(dir.root, 'node.json');
  await writeFile(file, JSON.stringify({ ...config, httpPorts: ports }));

  const args = [...sharedNodeFlags, program, '--config', file, '--process', 'services-status'];
  const control = dir.control('services-status');
  const keeper = spawn(keepService, [control, process.execPath, ...args], { stdio: 'ignore' });
  const ended = once(keeper, 'exit');
  afterTest(async () => {
    keeper.kill('SIGKILL');
    await ended;
  });
  const { pid } = await findRemoteProcess(control, AbortSignal.timeout(60_000));
  expect(pid).toBeGreaterThan(0);
  const ask = (path: string) => fetch(`http://127.0.0.1:${httpPort}/${path}`).catch(() => undefined);
  let checks: Record<string, string> = {};
  while (Object.keys(checks).length < 2 || Object.values(checks).includes('not started')) {
    await wait(100);
    const answer = await ask('readyz');
    if (answer !== undefined) checks = ((await answer.json()) as { checks: Record<string, string> }).checks;
  }
  // What they wait for are services that this node lacks.
  expect(Object.keys(checks).sort()).toEqual(['prober', 'sync-loop']);
  expect((await ask('healthz'))?.status).toBe(200);
});

test('each container has its services’ keys alone; state follows the user of the container', async () => {
  const dir = await made();
  const keys = [...server.identities.values()];
  await copyIdentities(dir, placement, keys);
  expect((await readdir(dir.identity('services-status'))).sort()).toEqual(['prober-0.nk', 'sync-loop-0.nk']);
  await writeFile(join(dir.state('prober'), 'record'), '');
  const owners = async () => {
    const paths = [dir.state('prober'), join(dir.state('prober'), 'record'), dir.identity('prober')];
    return Promise.all(paths.map(async (path) => (await stat(path)).uid));
  };
  const next = { other: ['prober' as const, 'cri-bridge' as const] };
  await mkdir(join(dir.state('prober'), 'below'));
  await makeServiceFolders(dir, next);
  await copyIdentities(dir, next, keys);
  expect(await owners()).toEqual([0, 0, 0]);
  await expect(stat(dir.identity('services-status'))).rejects.toMatchObject({ code: 'ENOENT' });
  await makeServiceFolders(dir, 'separate');
  expect(await owners()).toEqual([KUBUS_USER, KUBUS_USER, KUBUS_USER]);
});
