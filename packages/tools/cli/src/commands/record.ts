import { LIVE, type RecordingDocument, recordingNameSchema } from '@kubus/contracts/observatory';
import { type NodeDir, nodeDir, observatorySocket } from '@kubus/launcher';
import { RecordingWriter, sealRecording } from '@kubus/recording';
import { version } from '@kubus/service-kit';
import type { Command } from 'commander';
import { createReadStream, existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { connectNode } from '../node/node-link.ts';
import { ObservatoryClient, recordingPath } from '../observatory/observatory-client.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import { formatTable } from '../output/table.ts';
import { noSuchNode, upCommand } from '../node/no-such-node.ts';
import { UserError } from '../user-error.ts';

interface OutputOptions {
  readonly output?: 'json' | 'yaml';
}

/** Number of messages written in one transaction. */
const BATCH = 1_000;

export function addRecord(program: Command): void {
  const record = program.command('record').description('manage recordings of all messages of a node');
  record
    .command('start')
    .argument('<name>', 'name of the recording')
    .description('start a recording')
    .addOption(outputOption())
    .action(async (name: string, { output }: OutputOptions, command: Command) => {
      printRecordings([await client(command).call<RecordingDocument>('POST', '/recordings', { name })], output);
    });
  record
    .command('stop')
    .argument('<name>', 'name of the recording')
    .description('stop a recording; it is kept')
    .addOption(outputOption())
    .action(async (name: string, { output }: OutputOptions, command: Command) => {
      printRecordings([await client(command).call<RecordingDocument>('POST', recordingPath(name, 'stop'))], output);
    });
  record
    .command('list')
    .description(`list the recordings; ${LIVE} always exists and holds the newest messages`)
    .addOption(outputOption())
    .action(async ({ output }: OutputOptions, command: Command) => {
      printRecordings(await client(command).call<RecordingDocument[]>('GET', '/recordings'), output);
    });
  record
    .command('delete')
    .argument('<name>', 'name of the recording')
    .description('delete a recording')
    .addOption(outputOption())
    .action(async (name: string, { output }: OutputOptions, command: Command) => {
      await client(command).call('DELETE', recordingPath(name));
      if (output === undefined) print(`recording ${name} is deleted`);
      else printKubusDocument('RecordingFile', { name, file: undefined }, output);
    });
  record
    .command('export')
    .argument('<name-or-file>', 'name of the recording; or only the file, to export the node’s record')
    .argument('[file]', 'file to write')
    .description('export a recording to a file that can be opened anywhere')
    .addOption(outputOption())
    .action(async (first: string, second: string | undefined, { output }: OutputOptions, command: Command) => {
      const [name, file] = second === undefined ? [undefined, first] : [first, second];
      await exportFile(command, name, file);
      if (output === undefined) print(`exported to ${file}`);
      else printKubusDocument('RecordingFile', { name: name ?? LIVE, file }, output);
    });
  record
    .command('import')
    .argument('<file>', 'an exported recording')
    .option('--name <name>', 'name of the new recording; default: that of the file')
    .description('import an exported recording')
    .addOption(outputOption())
    .action(async (file: string, options: OutputOptions & { name?: string }, command: Command) => {
      const name = options.name ?? basename(file).replace(/\.kubus$/, '');
      if (!recordingNameSchema.safeParse(name).success)
        throw new UserError(`"${name}" is not a valid name for a recording: choose one with --name`);
      if (!existsSync(file)) throw new UserError(`${file} does not exist`);
      const sent = client(command).send<RecordingDocument>(recordingPath(name, 'file'), createReadStream(file));
      printRecordings([await sent], options.output);
    });
}

function dirOf(command: Command): NodeDir {
  return nodeDir(command.optsWithGlobals<{ node: string }>().node);
}

/** A client of the node's observatory. Throws a {@link UserError} that says how to start one when the node has none. */
function client(command: Command): ObservatoryClient {
  const dir = dirOf(command);
  const socket = observatorySocket(dir);
  if (existsSync(socket)) return new ObservatoryClient(socket);
  if (!existsSync(dir.root)) throw noSuchNode(dir.node, '--observatory');
  const how = upCommand(dir.node, '--restart --observatory');
  throw new UserError(`node ${dir.node} has no observatory: give it one with ${how}`);
}

async function exportFile(command: Command, name: string | undefined, file: string): Promise<void> {
  const dir = dirOf(command);
  if (name === undefined && !existsSync(observatorySocket(dir))) await exportRecord(dir.node, file);
  else {
    const answer = await client(command).read(recordingPath(name ?? LIVE, 'file'));
    await writeWhole(file, async (part) => {
      // Readable by its owner only: messages may be confidential.
      const handle = await open(part, 'wx', 0o600);
      await pipeline(answer, handle.createWriteStream());
    });
  }
}

/** Exports the node's record, for a node without an observatory. */
async function exportRecord(node: string, file: string): Promise<void> {
  const link = await connectNode(node);
  const messages = await link.record('>');
  const name = `${node}-${new Date().toISOString().slice(0, 10)}`;
  await writeWhole(file, (part) => {
    const began = messages[0]?.stored ?? Date.now();
    const writer = RecordingWriter.create(part, { name, node, version, state: 'recording', began }, { contract: '1' });
    for (let from = 0; from < messages.length; from += BATCH) writer.append(messages.slice(from, from + BATCH));
    writer.finish(Date.now());
    sealRecording(part);
  });
}

/** Writes to a temporary file and renames it, so that the file is never incomplete. */
async function writeWhole(file: string, write: (part: string) => Promise<void> | void): Promise<void> {
  const part = `${file}.new`;
  await rm(part, { force: true });
  try {
    await write(part);
    await rename(part, file);
  } catch (error) {
    for (const end of ['', '-wal', '-shm', '-journal']) await rm(`${part}${end}`, { force: true });
    throw error instanceof UserError ? error : new UserError(`cannot write ${file}: ${String(error)}`);
  }
}

function printRecordings(recordings: readonly RecordingDocument[], output: OutputOptions['output']): void {
  if (output !== undefined) {
    printKubusDocument('RecordingList', { items: recordings }, output);
    return;
  }
  const rows = recordings.map(({ name, state, node, messages, bytes, began, completeness }) => {
    const { droppedByBroker, neverStored, unreadable } = completeness;
    const missing = [
      ...(droppedByBroker > 0 ? [`${droppedByBroker} dropped`] : []),
      ...(neverStored > 0 ? [`${neverStored} never stored`] : []),
      ...(unreadable > 0 ? [`${unreadable} unreadable`] : []),
    ];
    const size = `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
    return [name, state, node, String(messages), size, new Date(began).toISOString(), missing.join(', ') || 'yes'];
  });
  print(formatTable(['NAME', 'STATE', 'NODE', 'MESSAGES', 'SIZE', 'STARTED', 'COMPLETE'], rows));
}
