// docs/tutorial.md as its reader does it: its commands, one block after the other, in a clone.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  type Outcome,
  type RunningCommand,
  TestRegistry,
  checkout,
  isSoak,
  makeTestFolder,
  nodeEnvironment,
  onMachine,
  poll,
  removeTestFolder,
  startCommand,
  sweepTestFolders,
  testNode,
} from '@kubus/harness';
import { freePorts, runCommand } from '@kubus/launcher';
import { buildBusybox } from '@kubus/node-images';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { documentedCommands } from '../src/documented-commands.ts';

const blocks = await documentedCommands(join(checkout, 'docs/tutorial.md'));
/** Several minutes: an experiment with repetitions. */
const isLong = (script: string) => script.includes('experiment run');
/** It runs until Ctrl-C. */
const isPage = (script: string) => /^\.\/kubus observatory/m.test(script);
/** The registry of this machine that stands for Docker Hub, which the test cannot reach. */
const [registryPort = 0] = await freePorts(1);

let folder = '';
let node = '';
beforeAll(async () => {
  await sweepTestFolders();
  folder = await makeTestFolder();
  node = testNode(folder).node;
  // The reader changes sources. What is written is in memory, and the checkout stays as it is.
  const [memory, clone] = [join(folder, 'memory'), join(folder, 'clone')];
  for (const path of [memory, clone]) await mkdir(path);
  await runCommand(['mount', '-t', 'tmpfs', 'tmpfs', memory]);
  for (const path of ['upper', 'work']) await mkdir(join(memory, path));
  const layers = `lowerdir=${checkout},upperdir=${memory}/upper,workdir=${memory}/work`;
  await runCommand(['mount', '-t', 'overlay', 'overlay', '-o', layers, clone]);
  await mkdir(join(folder, 'hosts/docker.io'), { recursive: true });
  await writeFile(
    join(folder, 'hosts/docker.io/hosts.toml'),
    `[host."http://localhost:${registryPort}"]\n  capabilities = ["pull", "resolve"]\n`,
  );
});
afterAll(() => removeTestFolder(folder));

/** Starts the registry with the image of the page. It ends with the node. */
async function startRegistry(): Promise<void> {
  const registry = await TestRegistry.start(onMachine(testNode(folder)), { port: registryPort, login: false });
  await registry.push(
    await buildBusybox({ reference: 'docker.io/library/busybox:1.36' }, folder),
    'library/busybox',
    '1.36',
  );
}

/** Starts a script of the page with this test's node, its folder for temporary files, its registry, and any free port for the page. */
function start(script: string): RunningCommand {
  const own = script
    .replaceAll('node0', node)
    .replaceAll('/tmp/', `${folder}/`)
    .replace('./kubus up ', `./kubus up --registry localhost:${registryPort} --registry-hosts ${folder}/hosts `)
    .replace(/^\.\/kubus observatory( --port \d+)?/m, 'exec ./kubus observatory --port 0');
  return startCommand('bash', ['-euo', 'pipefail', '-c', `cd ${folder}/clone\n${own}`], nodeEnvironment(folder));
}

/** Waits as the reader does, until every manifest has a pod that is Ready. */
async function allReady(): Promise<void> {
  const manifests = await readdir(join(folder, 'pods')).catch(() => []);
  await poll('the pods of the tutorial', async () => {
    const { stdout } = await start('./kubus get pods').outcome;
    return [...stdout.matchAll(/ 1\/1 +Running /g)].length === manifests.length ? true : undefined;
  });
}

test('the tutorial: each command succeeds, and shows what the page says', async () => {
  const shown = new Map<string, Outcome[]>();
  for (const { heading, script } of blocks) {
    if (isLong(script) && !isSoak) continue;
    if (script.includes('image pull')) await startRegistry();
    const running = start(script);
    if (isPage(script)) {
      await running.waitForOutput(/^http:\/\/127\.0\.0\.1:\d+\/#token=\S+$/m);
      running.child.kill('SIGINT');
    }
    const outcome = await running.outcome;
    // Ended by Ctrl-C it has no exit code.
    if (!isPage(script)) expect({ script, ...outcome }).toEqual({ script, ...outcome, code: 0 });
    shown.set(heading, [...(shown.get(heading) ?? []), outcome]);
    if (/> \/tmp\/pods\//.test(script)) await allReady();
  }
  const [critical, exported] = shown.get('The same in the terminal') ?? [];
  for (const outcome of [critical, exported])
    expect(outcome?.stdout).toMatch(/^pod-workers +probe\.fact\.results > worker\.fact\.status /m);
  expect(shown.get('Run an image from a registry')?.[0]?.stdout).toMatch(
    /^pulled docker\.io\/library\/busybox:1\.36 /m,
  );
  const [restarted, pods] = shown.get('Change a service') ?? [];
  expect(restarted?.stdout).toMatch(/^sync-loop-0 is ready again .*\n(.*desired, says my sync-loop.*\n)+$/);
  expect(pods?.stdout.match(/^shop\S* +1\/1 +Running +0 /gm)).toHaveLength(7);
  const compared = shown.get('Record an experiment')?.[2]?.stdout ?? '';
  expect(compared).toMatch(/^pod-workers .* slower +probe\.fact\.results > pod-workers worker\.fact\.status$/m);
  const left = await readdir(folder);
  expect(left.filter((name) => name === 'pods' || name.endsWith('.kubus'))).toEqual([]);
  expect(existsSync(testNode(folder).root)).toBe(false);
});
