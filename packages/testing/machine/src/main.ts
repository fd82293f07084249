// `./kubus test --machine [GROUP...] [--write] [--reference KUBELET] [--kvm]`: tests on a whole machine. See README.md.
import { toError } from '@kubus/ports';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Checks } from './checks.ts';
import { groups } from './groups/index.ts';
import type { Group } from './groups/group.ts';
import { type GuestImage, buildGuestImage, makeProgramDisk } from './guest-image.ts';
import { Guest, type GuestSize } from './guest.ts';
import { type GroupResult, withResults } from './matrix.ts';
import { readVersions } from './read-guest.ts';

const checkout = resolve(import.meta.dirname, '../../../..');
const folder = join(checkout, '.kubus/machine');
const matrix = join(checkout, 'docs/machines.md');

const usage = `Usage: ./kubus test --machine [GROUP...] [--write] [--reference KUBELET] [--kvm]

  --write              write the results into docs/machines.md
  --reference KUBELET  run this kubelet in the guest too, and keep its cgroups as what Kubus is compared with
  --kvm                use hardware virtualization

Groups (default: all):
${groups.map(({ name, about }) => `  ${name.padEnd(12)}${about}`).join('\n')}`;

const say = (line: string) => {
  console.log(line);
};

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      write: { type: 'boolean' },
      reference: { type: 'string' },
      kvm: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const unknown = positionals.filter((name) => !groups.some((group) => group.name === name));
  if (values.help === true || unknown.length > 0) {
    console.log(unknown.length > 0 ? `unknown group: ${unknown.join(', ')}\n\n${usage}` : usage);
    return unknown.length > 0 ? 2 : 0;
  }
  const selected = groups.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const image = await buildGuestImage(checkout, folder, say);
  const disks = values.reference === undefined ? [] : [await referenceDisk(resolve(values.reference))];
  const results: GroupResult[] = [];
  try {
    for (const group of selected) {
      const result = await runGroup(group, image, { disks, ...(values.kvm === true && { kvm: true }) });
      results.push(result);
      if (values.write === true) await writeFile(matrix, withResults(await readFile(matrix, 'utf8'), [result]));
    }
  } finally {
    for (const disk of disks) await rm(disk, { force: true });
  }
  const all = results.flatMap(({ checks }) => checks);
  const failed = all.filter(({ failure }) => failure !== undefined).length;
  say(`${all.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

async function referenceDisk(kubelet: string): Promise<string> {
  const disk = join(folder, 'reference.raw');
  await makeProgramDisk(disk, kubelet, 'kubelet');
  return disk;
}

/** Runs a group in a guest of its own. Its console is kept until the next run. */
async function runGroup(
  group: Group,
  image: GuestImage,
  options: GuestSize & { disks: string[] },
): Promise<GroupResult> {
  say(`\n${group.name}: ${group.about}`);
  const date = new Date().toISOString().slice(0, 10);
  const checks = new Checks(say);
  const logs = join(folder, 'logs');
  await mkdir(logs, { recursive: true });
  let guest: Guest | undefined;
  const interrupt = () => {
    void Promise.resolve(guest?.stop()).finally(() => process.exit(130));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);
  await checks.check('the group runs to its end', async () => {
    guest = await Guest.boot(image, { ...options, console: join(logs, `${group.name}-console.log`) }, say);
    await group.run({ guest, checks, say, hasReference: options.disks.length > 0 });
  });
  const versions = guest && (await readVersions(guest, group.setup).catch(() => undefined));
  const journal = await guest?.run('journalctl --no-pager --output=short-monotonic').catch(String);
  if (journal !== undefined) await writeFile(join(logs, `${group.name}-journal.log`), journal);
  await guest?.stop();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt);
  return { group: group.name, date, versions, checks: checks.done };
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(`kubus: ${toError(error).message}`);
  return 1;
});
