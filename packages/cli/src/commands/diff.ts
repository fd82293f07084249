import { type ComparedStories, compare, podTimeline } from '@kubus/causality';
import type { Comparison } from '@kubus/observatory-api';
import { sideOf } from '@kubus/observatory';
import { type Command, Option } from 'commander';
import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type NodeLink, connectNode } from '../node-link.ts';
import { readPodRecord, readRecordedPod } from '../pod-record.ts';
import { withRecording } from '../recording-file.ts';
import { formatTable } from '../table.ts';
import { UserError } from '../user-error.ts';

interface DiffOptions {
  readonly namespace: string;
  readonly what: 'start' | 'stop';
  readonly output?: 'json';
}

export function addDiff(program: Command): void {
  program
    .command('diff')
    .argument('<left>', 'a pod, or its UID if it is gone; FILE: all pods of a recording; FILE/POD: one of them')
    .argument('<right>', 'what to compare with it')
    .description('compare what two pods, or the pods of two recordings, had to wait for, step by step')
    .option('-n, --namespace <namespace>', 'their namespace', 'default')
    .addOption(
      new Option('--what <what>', 'which way of theirs').choices(['start', 'stop']).default('start' satisfies 'start'),
    )
    .addOption(new Option('-o, --output <format>', 'print for programs').choices(['json']))
    .action(async (left: string, right: string, options: DiffOptions, command: Command) => {
      const node = command.optsWithGlobals<{ node: string }>().node;
      const comparison = await withSide(node, left, options, (one) =>
        withSide(node, right, options, (other) => compare(options.what, one, other)),
      );
      console.log(options.output === 'json' ? JSON.stringify(comparison) : comparisonTable(comparison));
    });
}

/** Gives one side of the comparison to `use`: a recording is open as long as that runs. */
async function withSide(
  node: string,
  text: string,
  { namespace, what }: DiffOptions,
  use: (side: ComparedStories) => Comparison | Promise<Comparison>,
): Promise<Comparison> {
  const [file, name] = isFile(text) ? [text] : [dirname(text), basename(text)];
  if (!isFile(file)) return use(whole(await sideOfNode(await connectNode(node), text, namespace), text, what));
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

/** One pod without the way that is asked for is nothing to compare with. */
function whole(side: ComparedStories, name: string, what: 'start' | 'stop'): ComparedStories {
  const pods = [...side.pods];
  if (pods.some(({ paths }) => paths.some((path) => path.what === what))) return { ...side, pods };
  throw new UserError(`the record does not hold the whole ${what} of ${name}`);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Steps beside each other with their times in milliseconds; what is not the same on both sides is marked. */
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
  const whole = ['', shown(left.ms), shown(right.ms), change(left.ms, right.ms), '', `${what}, together`];
  return formatTable(['SERVICE', 'LEFT', 'RIGHT', 'CHANGE', '', 'STEP'], [...rows, whole]);
}
