import { jsonLinesOf, recordedMessage } from '@kubus/causality';
import { type NodeDir, listNodes, nodeConfigFile, readSettings } from '@kubus/launcher';
import { toError } from '@kubus/ports';
import { open, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { healthOf } from '../commands/status.ts';
import { ownVersions, versionsOf } from '../commands/version.ts';
import { checkMachine } from '../doctor/checks.ts';
import { readFacts } from '../doctor/read-facts.ts';
import { connectNode } from '../node/node-link.ts';
import { textWithoutSecrets, withoutSecrets } from './without-secrets.ts';

/** The most of the end of a log, in bytes. */
const LOG_BYTES = 1024 * 1024;
/** The most messages, the newest. */
const MESSAGES = 50_000;

/**
 * Writes everything of a bug report into a folder, without secrets.
 *
 * @param sinceMs how far back the messages go
 * @returns what could not be collected, and why
 */
export async function collect(dir: NodeDir, folder: string, sinceMs: number): Promise<string[]> {
  const notes: string[] = [];
  const part = async (file: string, read: () => Promise<string | undefined>) => {
    try {
      const text = await read();
      if (text !== undefined) await writeFile(join(folder, file), text, { mode: 0o600 });
    } catch (error) {
      notes.push(`${file}: ${toError(error).message}`);
    }
  };
  const document = (file: string, read: () => Promise<unknown>) =>
    part(file, async () => {
      const value = await read();
      return value === undefined ? undefined : `${JSON.stringify(withoutSecrets(value), undefined, 2)}\n`;
    });
  await document('versions.json', async () => ({ client: ownVersions(), node: await versionsOf(dir.node) }));
  await document('doctor.json', async () => checkMachine(await readFacts()));
  await document('nodes.json', async () =>
    (await listNodes()).map(({ dir, state, memoryBytes, createdAt }) => ({
      name: dir.node,
      state,
      memoryBytes,
      createdAt,
    })),
  );
  await document('settings.json', () => readSettings(dir));
  await document('node.json', async () => JSON.parse(await readFile(nodeConfigFile(dir), 'utf8')) as unknown);
  await document('status.json', async () => healthOf(await connectNode(dir.node)));
  await part('messages.jsonl', () => messages(dir.node, sinceMs));
  const logs = (await readdir(dir.logs).catch(() => [])).filter((name) => name.endsWith('.log'));
  for (const name of logs) await part(`log-${name}`, async () => textWithoutSecrets(await endOf(join(dir.logs, name))));
  return notes;
}

/** The node's record since that time, one message a line, as `kubus replay` reads it. */
async function messages(node: string, sinceMs: number): Promise<string> {
  const link = await connectNode(node);
  const begin = Date.now() - sinceMs;
  const recent = (await link.record('>')).filter(({ message }) => (recordedMessage(message)?.at ?? 0) >= begin);
  const lines: string[] = [];
  for (const line of jsonLinesOf(recent.slice(-MESSAGES))) {
    lines.push(`${JSON.stringify(withoutSecrets(JSON.parse(line)))}\n`);
  }
  return lines.join('');
}

/** The end of a file, from the beginning of a line. */
async function endOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const length = Math.min(size, LOG_BYTES);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(length), position: size - length });
    const text = buffer.toString('utf8', 0, bytesRead);
    return length === size ? text : text.slice(text.indexOf('\n') + 1);
  } finally {
    await file.close();
  }
}
