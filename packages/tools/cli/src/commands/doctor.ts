import type { Command } from 'commander';
import { checkMachine } from '../doctor/checks.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check machine, kernel, cgroups, runtime, ports, disk, clock and leftovers, and say how to fix each')
    .addOption(outputOption())
    .action(async ({ output }: { output?: 'json' | 'yaml' }) => {
      const { readFacts } = await import('../doctor/read-facts.ts');
      const findings = checkMachine(await readFacts());
      const isHealthy = findings.every(({ verdict }) => verdict !== 'problem');
      if (output !== undefined) printKubusDocument('MachineReport', { isHealthy, items: findings }, output);
      else {
        for (const { check, verdict, message, fix } of findings) {
          print(`${verdict.padEnd(8)} ${check.padEnd(9)} ${message}`);
          if (fix !== undefined) print(`${' '.repeat(19)}fix: ${fix}`);
        }
      }
      if (!isHealthy) process.exitCode = 1;
    });
}
