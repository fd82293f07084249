import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { executable } from './containerd.ts';

/** A wrapper that blocks a program: while it is armed, the next process waits until it is opened. */
export interface Gate {
  /** The path to run instead of the program. */
  readonly program: string;
  /** The next process waits. */
  arm(): GateVisit;
  /** Stops waiting for processes. */
  close(): void;
}

interface GateVisit {
  /** Resolves when a process waits at the gate. */
  readonly entered: Promise<void>;
  /** Resolves when that process has passed the gate or was killed while it waited. */
  readonly left: Promise<void>;
  /** Lets it pass; resolves when it has. */
  open(): Promise<void>;
}

/** `condition` is a shell condition that selects the runs of the program. */
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
          // Also opened for reading, so that opening does not block.
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

/** The reading end of a pipe. Opening it does not wait for a writer; it ends when the first writer has closed it. */
function readerOf(fifo: string): Socket {
  const fd = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}
