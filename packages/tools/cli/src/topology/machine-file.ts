import { type Machine, describedMachine, descriptionOf, machineDescription } from '@kubus/exclusive';
import { readMachine } from '@kubus/machine-topology';
import { parse } from 'yaml';
import { UserError } from '../user-error.ts';
import { readUserFile } from './user-file.ts';

/** The description of this machine. */
export async function thisMachine(): Promise<ReturnType<typeof descriptionOf>> {
  return descriptionOf((await readMachine()).machine);
}

/**
 * Reads the description of a machine, JSON or YAML; without a path, this machine. Throws a UserError that names file and field.
 */
export async function readMachineFile(path: string | undefined): Promise<Machine> {
  if (path === undefined) return (await readMachine()).machine;
  const { data, error } = machineDescription.safeParse(await readUserFile(path, (text) => parse(text) as unknown));
  if (data === undefined) {
    const [issue] = error.issues;
    throw new UserError(`${path}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a machine'}`);
  }
  const machine = describedMachine(data);
  if ('problem' in machine) throw new UserError(`${path}: ${machine.problem}`);
  return machine;
}
