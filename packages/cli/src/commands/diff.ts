import { type ComparedStories, compare, criticalPaths, podSummary } from '@kubus/causality';
import type { Comparison } from '@kubus/observatory-api';
import { type Command, Option } from 'commander';
import { type NodeLink, connectNode } from '../node-link.ts';
import { readPodRecord } from '../pod-record.ts';
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
    .argument('<left>', 'a pod, or its UID if it is gone')
    .argument('<right>', 'the one to compare with it')
    .description('compare what two pods had to wait for, step by step')
    .option('-n, --namespace <namespace>', 'their namespace', 'default')
    .addOption(
      new Option('--what <what>', 'which way of theirs').choices(['start', 'stop']).default('start' satisfies 'start'),
    )
    .addOption(new Option('-o, --output <format>', 'print for programs').choices(['json']))
    .action(async (left: string, right: string, options: DiffOptions, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      const sides = [await sideOf(link, left, options), await sideOf(link, right, options)] as const;
      const comparison = compare(options.what, ...sides);
      console.log(options.output === 'json' ? JSON.stringify(comparison) : comparisonTable(comparison));
    });
}

async function sideOf(link: NodeLink, name: string, { namespace, what }: DiffOptions): Promise<ComparedStories> {
  const { uid, messages } = await readPodRecord(link, name, namespace);
  const [pod, paths] = [podSummary(uid, messages), criticalPaths(uid, messages)];
  if (!paths.some((path) => path.what === what)) {
    throw new UserError(`the record does not hold the whole ${what} of ${name}`);
  }
  return { recording: link.bus.node, pod, pods: [{ pod, paths }] };
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
