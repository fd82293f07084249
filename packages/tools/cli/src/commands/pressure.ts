import { readPressure } from '@kubus/contracts';
import { SIGNALS } from '@kubus/eviction';
import { type Command, Option } from 'commander';
import { connectNode } from '../node/node-link.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import { pressureText } from '../pressure/pressure-text.ts';

interface PressureOptions {
  readonly signal?: string;
  readonly output?: 'json' | 'yaml';
}

export function addPressure(program: Command): void {
  program
    .command('pressure')
    .description('show what the node has left, when that reaches its thresholds, and which pods would be evicted first')
    .addOption(
      new Option('--signal <signal>', 'rank the pods for this signal; default: the nearest to its threshold').choices(
        Object.keys(SIGNALS),
      ),
    )
    .addOption(outputOption())
    .action(async ({ signal, output }: PressureOptions, command: Command) => {
      const { bus } = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      const { result } = await bus.call(readPressure, bus.node, { ...(signal !== undefined && { signal }) });
      const { signals, thresholds, conditions, transitionSeconds, ranking } = result;
      if (output === undefined) print(pressureText(result));
      else printKubusDocument('NodePressure', { signals, thresholds, conditions, transitionSeconds, ranking }, output);
    });
}
