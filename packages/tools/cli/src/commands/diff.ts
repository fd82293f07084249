import { type ComparedStories, compare, podTimeline } from '@kubus/causality';
import type { Comparison } from '@kubus/contracts/observatory';
import { type Command, Option } from 'commander';
import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { readPodRecord, readRecordedPod } from '../pods/pod-record.ts';
import { withRecording } from '../pods/recording-file.ts';
import { formatTable } from '../output/table.ts';
import { UserError } from '../user-error.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';

interface DiffOptions {
  readonly namespace: string;
  readonly what: 'start' | 'stop';
  readonly output?: 'json' | 'yaml';
}

export function addDiff(program: Command): void {
  program
    .command('diff')
    .argument('<left>', 'a pod, or the UID of a removed one; FILE: all pods of a recording; FILE/POD: one pod of it')
    .argument('<right>', 'the same, to compare with')
    .description('compare the critical paths of two pods, or of two recordings, step by step')
    .option('-n, --namespace <namespace>', 'namespace of the pods', 'default')
    .addOption(
      new Option('--what <what>', 'which critical path to compare')
        .choices(['start', 'stop'])
        .default('start' satisfies 'start'),
    )
    .addOption(outputOption())
    .action(async (left: string, right: string, options: DiffOptions, command: Command) => {
      const node = command.optsWithGlobals<{ node: string }>().node;
      const comparison = await withSide(node, left, options, (one) =>
        withSide(node, right, options, (other) => compare(options.what, one, other)),
      );
      if (options.output === undefined) print(comparisonTable(comparison));
      else printKubusDocument('Comparison', comparison, options.output);
    });
}

/** Calls `use` with one side of the comparison; a recording stays open until `use` returns. */
async function withSide(
  node: string,
  text: string,
  { namespace, what }: DiffOptions,
  use: (side: ComparedStories) => Comparison | Promise<Comparison>,
): Promise<Comparison> {
  const [file, name] = isFile(text) ? [text] : [dirname(text), basename(text)];
  if (!isFile(file)) return use(whole(await sideOfNode(await connectNode(node), text, namespace), text, what));
  // Imported only here: it contains a web server.
  const { sideOf } = await import('@kubus/observatory');
  return withRecording(file, (reader) => {
    const side = sideOf(reader, what, basename(file), name && readRecordedPod(reader, name, namespace).uid);
    return use(name === undefined ? side : whole(side, name, what));
  });
}

async function sideOfNode(link: NodeLink, name: string, namespace: string): Promise<ComparedStories> {
  const { uid, messages } = await readPodRecord(link, name, namespace);
  const timeline = podTimeline(uid, messages);
  return { recording: link.bus.node, pod: timeline.pod, pods: [timeline] };
}

/** Throws a {@link UserError} when no pod of the side has the critical path to compare. */
function whole(side: ComparedStories, name: string, what: 'start' | 'stop'): ComparedStories {
  const pods = [...side.pods];
  if (pods.some(({ paths }) => paths.some((path) => path.what === what))) return { ...side, pods };
  throw new UserError(`cannot compare: the record has no complete ${what} of pod ${name}`);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** The steps of both sides in one table, times in milliseconds; steps that differ are marked. */
export function comparisonTable({ what, left, right, steps }: Comparison): string {
  const shown = (ms: number | undefined) => ms?.toFixed(1) ?? '-';
  const change = (from: number | undefined, to: number | undefined) =>
    from === undefined || to === undefined ? '' : `${to >= from ? '+' : ''}${(to - from).toFixed(1)}`;
  const rows = steps.map(({ step, service, left: was, right: is, verdict }) => [
    service,
    shown(was),
    shown(is),
    change(was, is),
    verdict === 'same' ? '' : verdict,
    step,
  ]);
  const whole = ['', shown(left.ms), shown(right.ms), change(left.ms, right.ms), '', `total ${what}`];
  return formatTable(['SERVICE', 'LEFT', 'RIGHT', 'CHANGE', '', 'STEP'], [...rows, whole]);
}
