import { Command } from 'commander';
import { count } from './count-option.ts';
import { formatMessages, measureMessages } from './message-costs.ts';

/**
 * What the messages of a pod cost, by kind and by service. Started as `pnpm --filter @kubus/bench messages [--pods N] [PLACEMENT...]`, as
 * root.
 */
const program = new Command('messages')
  .argument('[placements...]', 'separate, hosted, or a file with groups', ['separate', 'hosted'])
  .option('--pods <n>', 'pods at once', count, 30)
  .parse();

const { pods } = program.opts<{ pods: number }>();
for (const placement of program.processedArgs[0] as string[]) {
  console.log(`${formatMessages(await measureMessages(placement, pods))}\n`);
}
