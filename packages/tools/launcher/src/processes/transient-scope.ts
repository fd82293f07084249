import { existsSync } from 'node:fs';
import type { Command } from './command.ts';

/** Exists where systemd is process 1 (sd_booted(3)). */
const SYSTEMD = '/run/systemd/system';

/**
 * The command line that runs `command` in a transient scope of systemd's own, with the same pid, so that the end of the session it was
 * started in does not end it (logind's KillUserProcesses). Without systemd it is the command itself.
 *
 * The scope goes away with its last process.
 *
 * @param name of the scope; unique on the machine
 * @param systemd path of the folder that shows systemd is there
 */
export function inTransientScope(name: string, about: string, command: Command, systemd = SYSTEMD): Command {
  if (!existsSync(systemd)) return command;
  return [
    'systemd-run',
    '--scope',
    '--quiet',
    '--collect',
    `--unit=${name}`,
    `--description=${about}`,
    '--',
    ...command,
  ];
}
