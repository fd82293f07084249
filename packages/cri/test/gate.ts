import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { executable } from './containerd.ts';

/** Stands before a program: while it is armed, who passes stops until it is opened. */
export interface Gate {
  /** To be run in place of the program. */
  readonly program: string;
  /** The next one stops. */
  arm(): GateVisit;
  /** Stops listening for visits. */
  close(): void;
}

export interface GateVisit {
  /** Resolves when a process stands at the gate. */
  readonly entered: Promise<void>;
  /** Resolves when that process has gone: through the gate or, while it is closed, because it was killed. */
  readonly left: Promise<void>;
  /** Lets it through; resolves when it has left. */
  open(): Promise<void>;
}

/** `condition` is shell text: which runs of the program the gate is for. */
export function gate(folder: string, name: string, program: string, condition: string): Gate {
  const place = join(folder, `gate-${name}`);
  mkdirSync(place);
  const [armed, inside, key] = ['armed', 'inside', 'key'].map((file) => join(place, file)) as [string, string, string];
  execFileSync('mkfifo', [inside, key]);
  const script = executable(
    join(place, name),
    `#!/bin/sh
if [ -e ${armed} ] && ${condition}; then
  rm -f ${armed}
  exec 3>${inside}
  echo here >&3
  read -r word <${key}
  exec 3>&-
fi
exec ${program} "$@"
`,
  );
  const visits = new Set<Socket>();
  return {
    program: script,
    arm: () => {
      writeFileSync(armed, '');
      const visit = readerOf(inside);
      visits.add(visit);
      const entered = new Promise<void>((resolve) => visit.once('data', () => resolve()));
      const left = new Promise<void>((resolve) => visit.once('end', () => resolve()));
      return {
        entered,
        left,
        open: async () => {
          // For reading too, so that opening waits for nobody.
          const fd = openSync(key, constants.O_RDWR);
          writeSync(fd, 'go\n');
          await left;
          closeSync(fd);
        },
      };
    },
    close: () => visits.forEach((visit) => visit.destroy()),
  };
}

/** A pipe's reading end. Opening it does not wait for a writer, and its end comes when the first writer has gone. */
function readerOf(fifo: string): Socket {
  const fd = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}
