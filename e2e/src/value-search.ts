import { readFile, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isRunning, readRecords } from '@kubus/launcher';
import type { TestNode } from '@kubus/harness';
import { hasErrno } from '@kubus/ports';

/**
 * Where one of these texts occurs in what a node publishes or keeps: its messages, their record, the logs, the state folder, the
 * command lines of its processes and their metrics. The runtime's own files are left out: they have to have them.
 */
export async function placesOf(node: TestNode, texts: readonly string[]): Promise<string[]> {
  const has = (content: string | Buffer) => texts.some((text) => content.includes(text));
  const messages = node.watch.messages.all.filter(({ message }) => {
    return has(JSON.stringify(message.headers)) || has(message.data);
  });
  const found = messages.map(({ message }) => `message ${message.subject}`);
  for (const file of await filesOf(node)) if (has(await contentOf(file))) found.push(`file ${file}`);
  for (const record of await readRecords(node.dir.processes)) {
    // The record of a killed process stays until the process has been restarted.
    if (!(await isRunning(record))) continue;
    const { what, pid } = record;
    if (has(await readFile(`/proc/${pid}/cmdline`))) found.push(`command line of ${what}`);
    const { http } = node.watch.instance(what) ?? {};
    if (http !== undefined && has((await node.http(what, 'metrics')).body)) found.push(`metrics of ${what}`);
  }
  return found;
}

/** Empty for a file that was removed since it was found. */
async function contentOf(file: string): Promise<string | Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return '';
    throw error;
  }
}

/** The files of the node, without those of its runtime. */
async function filesOf(node: TestNode): Promise<string[]> {
  const { config, logs, podLogs, pods, root, state } = node.dir;
  const folders = [config, logs, podLogs, pods, state('.'), join(root, 'nats')];
  const files = (await Promise.all(folders.map(filesBelow))).flat();
  return files.filter((file) => basename(file) !== 'containerd.log');
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
