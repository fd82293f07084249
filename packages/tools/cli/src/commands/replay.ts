import type { Difference, LifeReport, ReplayedMessage } from '@kubus/replay';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isRecording, withRecording } from '../pods/recording-file.ts';
import { UserError } from '../user-error.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';

interface ReplayOptions {
  service?: string;
  instance?: string;
  until?: number;
  output?: 'json' | 'yaml';
}

export function addReplay(program: Command): void {
  program
    .command('replay')
    .argument('<file>', 'a recording of a node started with `up --journal`: exported, or the output of `tail -o json`')
    .description('run services again on their recorded journals and compare what they publish with the recording')
    .option('--service <service>', 'replay only the instances of this service')
    .option('--instance <instance>', 'replay only this instance')
    .option('--until <sequence>', 'ignore messages stored after this sequence number', sequence)
    .addOption(outputOption())
    .action(async (file: string, options: ReplayOptions) => {
      const reports = await reportsOf(file, options);
      if (options.output !== undefined) printKubusDocument('ReplayReport', { items: reports }, options.output);
      else for (const report of reports) printReport(report);
      if (reports.some(({ difference }) => difference !== undefined)) process.exitCode = 1;
    });
}

async function reportsOf(file: string, { service, instance, until }: ReplayOptions): Promise<LifeReport[]> {
  // Imported only here: it contains the code of the services.
  const { readJsonLines, replay, replayFile } = await import('@kubus/replay');
  const options = { service, instance, until };
  const reports = (await isRecording(file))
    ? await withRecording(file, (reader) => replayFile(reader, options))
    : await replay(
        readJsonLines(createInterface({ input: createReadStream(file), crlfDelay: Infinity }), file),
        options,
      );
  if (reports.length === 0) {
    throw new UserError(
      `${file} has no journal of such an instance: start the node with \`up --journal\` before you record it`,
    );
  }
  return reports;
}

function printReport(report: LifeReport): void {
  const { instance, epoch, inputs, equal, unrecorded, notCovered, gap, difference } = report;
  const counts = [
    `${inputs} inputs`,
    `${equal} messages equal`,
    ...(unrecorded > 0 ? [`${unrecorded} not in the recording`] : []),
    ...(notCovered > 0 ? [`not covered: ${notCovered}`] : []),
    ...(difference === undefined ? [] : ['then it differs']),
  ];
  print(`${instance} epoch ${epoch}: ${counts.join(', ')}`);
  if (gap !== undefined) print(`  the journal is incomplete: ${gap}`);
  if (difference !== undefined) printDifference(difference);
}

function printDifference({ what, expected, got, changes, cause, before }: Difference): void {
  print(`  ${what}`);
  print(`  recorded  ${messageLine(expected)}`);
  print(`  replayed  ${messageLine(got)}`);
  for (const { where, expected: one, got: other } of changes) {
    print(`    ${where}: ${JSON.stringify(one)} became ${JSON.stringify(other)}`);
  }
  print(`  cause     ${cause.message === undefined ? cause.what : messageLine(cause.message)}`);
  print('  preceding journal entries:');
  for (const entry of before) print(`    ${entry}`);
}

function messageLine(message: ReplayedMessage | undefined): string {
  if (message === undefined) return 'nothing';
  const { id, seq, subject } = message;
  return `${seq === undefined ? '' : `${seq}  `}${id}  ${subject}`;
}

function sequence(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError('must be a whole number');
  return value;
}
