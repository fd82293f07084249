import { Argument, type Command } from 'commander';
import { completionOf } from '../complete/candidates.ts';
import { type Shell, completionScripts, shells } from '../complete/scripts.ts';
import { print } from '../output/output.ts';

/** Other characters would have a meaning in a shell. */
const PLAIN = /^[\w.\-/=]+$/;

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .description('print a script with which a shell completes commands, options, pods and services')
    .action((shell: Shell) => print(completionScripts[shell]));
  program
    .command('complete', { hidden: true })
    .argument('[words...]', 'the words after kubus up to the cursor, after --')
    .action(async (words: string[], _options: object, command: Command) => {
      const {
        words: fixed,
        known,
        before = '',
        node = command.optsWithGlobals<{ node: string }>().node,
      } = completionOf(program, words);
      // Imported only where it is needed: a completion must be quick.
      const values =
        known === undefined ? [] : await (await import('../complete/known-values.ts')).knownValues(known, node);
      const possible = [...fixed, ...values].map((word) => `${before}${word}`);
      const fitting = possible.filter((word) => word.startsWith(words.at(-1) ?? '') && PLAIN.test(word));
      if (fitting.length > 0) print(fitting.join('\n'));
    });
}
